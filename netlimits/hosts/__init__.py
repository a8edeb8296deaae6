"""Where commands run: one interface (`base.Host`), with SSH, this machine and a script behind it.

`ssh` and `local` differ in how they log in; `login` makes a Host of either. Nothing is imported
here, so that paramiko loads only for SSH.
"""
