"""Compute figures from an attempt's raw output, or reject the attempt with a reason."""
