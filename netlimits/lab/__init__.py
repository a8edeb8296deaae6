"""Test hosts on this machine: network namespaces, or machines of their own."""
