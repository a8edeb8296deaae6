"""CPU profiles: folded stacks of a host, sorted into categories; flame graphs."""
