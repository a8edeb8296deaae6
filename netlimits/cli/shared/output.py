"""Print texts and JSON with control codes escaped, and quote paths in commands to copy."""

from __future__ import annotations

import json
import os
import shlex

import click

from netlimits.errors import escaped


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text with control codes escaped, since texts of hosts and files may contain them."""
    click.echo(escaped(str(text)), err=err, nl=nl)


def echo_json(value: object) -> None:
    echo(json.dumps(value, indent=2, ensure_ascii=False))


def quoted(path: os.PathLike[str] | str) -> str:
    """Quote a path for a shell, in commands that users copy."""
    return shlex.quote(os.fspath(path))
