"""Figures from an attempt's raw output, or the reason why the attempt must not count."""
