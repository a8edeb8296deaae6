"""What a comparison rests on: its two sides, sessions, runs that are missing, and its notes."""
