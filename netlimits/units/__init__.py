"""Sizes, rates, durations and CPU lists, as experiments and tools write them."""
