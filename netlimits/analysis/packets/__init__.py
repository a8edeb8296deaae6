"""Packet traces: tcpdump's text and captures as a frame of TCP packets."""
