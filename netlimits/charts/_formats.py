"""The formats of figures, which a command offers before it imports matplotlib."""

FORMATS = ("png", "svg", "pdf")
"""What a figure can be written as."""
