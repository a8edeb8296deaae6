"""Packet traces: tcpdump's text and captures, to one frame of TCP packets."""
