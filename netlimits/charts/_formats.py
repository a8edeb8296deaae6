"""The file formats of figures, in a module that does not import matplotlib."""

FORMATS = ("png", "svg", "pdf")
"""Suffixes of the files that a figure can be written to."""
