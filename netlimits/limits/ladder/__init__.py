"""The steps of `netlimits diagnose`: workloads, changes of resources (doses), and diagnosis."""
