"""Limits within a host: its program, buffers, CPUs and queues."""
