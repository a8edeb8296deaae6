"""Sizes, rates, times and lists of CPUs, as experiments and tools write them."""
