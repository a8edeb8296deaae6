"""SSH: configuration, keys, logins through jump hosts, and programs on channels."""
