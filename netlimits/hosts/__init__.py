"""Where commands run: one interface (`base.Host`), with SSH, this machine and a script behind it.

`ssh` and `local` differ in how they log in. Everything after the login is the same code: `shell`
keeps a `sh` open and runs commands in it, `server` ties a server's life to the connection, and
`login` makes a Host of the two. Nothing is imported here, so that paramiko loads only for SSH.
"""
