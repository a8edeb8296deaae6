"""Where commands run. One seam (`base.Host`), and behind it SSH, this machine, and a script.

`ssh` and `local` are two ways to log in; everything after the login is the same code: `shell`
keeps a `sh` open and runs commands in it, `server` ties a server to the connection, `login`
makes a Host of the two. Nothing is imported here, so that paramiko loads only where SSH is used.
"""
