"""The steps of `diagnose`: its workloads, the doses it gives, and the diagnosis from both."""
