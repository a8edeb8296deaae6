"""A host's whole network state: read in one round trip, parsed, and compared leaf by leaf.

`script.read` returns the commands. `state.parsed` turns their output into leaves: a kind, an
interface, a name and a value, all texts. `comparison.differences` compares two readings. Values
that change by themselves are left out: lifetimes and everything that has one, counters, carriers,
learned neighbours, and the numbers that the kernel gives to links and namespaces.
"""
