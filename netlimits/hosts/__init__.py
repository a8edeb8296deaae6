"""Where commands run: one interface, `base.Host`, for SSH, this machine and scripted tests.

`ssh` and `local` differ in how they log in; `login` makes a Host of either. Nothing is imported
here, so that paramiko loads only for SSH.
"""
