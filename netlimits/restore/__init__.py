"""Change and restore hosts: the undo log, the notes on hosts, the guard and the restore."""
