"""A host's whole network state: read in one round trip, parsed, and compared value by value."""
