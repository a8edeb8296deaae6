"""Limits of the path between the hosts."""
