"""Every way back: the undo log, the notes on hosts, the guard, and the put-back itself."""
