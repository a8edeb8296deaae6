"""`netlimits schema`: the JSON Schema of experiment files."""

from __future__ import annotations

import json

import click

from netlimits.cli import echo


@click.command()
def schema() -> None:
    """Print the JSON Schema of experiment files, for editors and other checkers.

    \b
    Example, with a first line in the experiment that the YAML language server understands:
      netlimits schema > netlimits.schema.json
      # yaml-language-server: $schema=netlimits.schema.json
    """
    from netlimits.experiment.schema import document_schema

    echo(json.dumps(document_schema(), indent=2, ensure_ascii=False))
