"""The file formats of figures, in a module that does not import matplotlib."""

from pathlib import Path

from netlimits.errors import DataError

FORMATS = ("png", "svg", "pdf")
"""File formats of figures, which are also the suffixes of the files."""


def check_format(path: Path) -> str:
    """Return the format that a file's suffix names.

    Args:
        path: File to write. Upper and lower case are the same.

    Returns:
        One of FORMATS.

    Raises:
        DataError: The suffix is not one of FORMATS.
    """
    name = path.suffix.lower().lstrip(".")
    if name not in FORMATS:
        raise DataError(f"{path}: unknown chart format; end the name in .{', .'.join(FORMATS)}")
    return name
