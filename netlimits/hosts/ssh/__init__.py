"""Hosts over SSH, on paramiko: configuration, keys, the way to the login, and channels."""
