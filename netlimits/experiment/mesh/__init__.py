"""The scheduling of a mesh: which pairs there are, in which rounds, and which begins next."""
