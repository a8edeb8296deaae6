"""SSH: configuration, keys, the way to a login, and programs on its channels."""
