"""`netlimits schema`: the JSON Schema of experiment files, and of a diagnosis."""

from __future__ import annotations

import click

from netlimits.cli.shared.output import echo_json
from netlimits.experiment.schema import document_schema
from netlimits.limits.ladder.diagnosis_schema import SCHEMA


@click.command()
@click.argument("what", type=click.Choice(["experiment", "diagnose"]), default="experiment")
def schema(what: str) -> None:
    """Print the JSON Schema of experiment files, or of the output of `diagnose --json`.

    \b
    Examples (the second line goes to the top of an experiment, for the YAML language server):
      netlimits schema > netlimits.schema.json
      # yaml-language-server: $schema=netlimits.schema.json
      netlimits schema diagnose > answer.schema.json
    """
    shown = SCHEMA if what == "diagnose" else document_schema()
    echo_json(shown)
