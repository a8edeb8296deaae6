"""Readings from the hosts beside the tools' output: what a run cost, and what limited it."""
