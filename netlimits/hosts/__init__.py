"""Hosts run commands: one interface, `base.Host`, for SSH, this machine and scripted tests.

`ssh` and `local` each implement a Login, and `login` turns a Login into a Host. This file imports
nothing, so that paramiko is loaded only when SSH is used.
"""
