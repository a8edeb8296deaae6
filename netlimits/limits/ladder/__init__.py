"""What `diagnose` measures, step by step: workloads, doses, and what they say together."""
