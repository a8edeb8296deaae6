"""Readings from the hosts beside the tools: what a run cost, and what limited it."""
