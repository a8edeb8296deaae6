"""CPU profiles: the folded stacks of a host, sorted into categories."""
