"""The file formats of figures, in a module that does not import matplotlib."""

FORMATS = ("png", "svg", "pdf")
"""File formats of figures, which are also the suffixes of the files."""
