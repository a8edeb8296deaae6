"""Parse sizes, rates, durations and CPU lists in the notations of experiments and tools."""
