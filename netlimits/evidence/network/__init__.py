"""A host's whole network state: read in one round trip, parsed, and compared leaf by leaf.

`script.read` is one shell script. `state.parsed` turns what it prints into leaves: a kind, an
interface, a name and a value, all texts. `comparison.differences` compares two readings. Whatever
moves by itself is left out: lifetimes and everything that has one, counters, carriers, neighbours
that were learned, and the numbers that the kernel gives to links and namespaces.
"""
