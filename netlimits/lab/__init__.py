"""Test hosts on this machine: network namespaces or QEMU machines."""
