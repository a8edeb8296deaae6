"""`netlimits experiments`: the experiments that are installed with netlimits."""

from __future__ import annotations

from pathlib import Path

import click

from netlimits.cli.shared.options import JSON
from netlimits.cli.shared.output import echo, echo_json
from netlimits.errors import InputError
from netlimits.experiment import packaged


def _complete(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    return [name for name in packaged.files() if name.startswith(begun)]


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME…]", shell_complete=_complete)
@click.option("--copy", is_flag=True, help="Write NAME.yaml into the current folder, to edit it.")
@JSON
def experiments(names: tuple[str, ...], copy: bool, as_json: bool) -> None:
    """List the installed experiments, or print the file of NAME.

    `run`, `plan` and `check` take these names in place of a file.

    \b
    Examples:
      netlimits experiments
      netlimits experiments rrul
      netlimits experiments --copy quickstart
      netlimits run quickstart --local
    """
    if copy:
        _copy(names)
        return
    if names:
        echo("\n".join(packaged.text(name).rstrip("\n") for name in names))
        return
    every = packaged.experiments()
    if as_json:
        rows = [{"name": e.name, "question": e.question, "file": str(e.path)} for e in every]
        echo_json(rows)
        return
    width = max(len(each.name) for each in every)
    for each in every:
        echo(f"{each.name:<{width}}  {each.question}")
    echo("next: netlimits plan NAME, netlimits run NAME, netlimits experiments --copy NAME")


def _copy(names: tuple[str, ...]) -> None:
    if not names:
        raise InputError("--copy needs the NAME of an experiment; `netlimits experiments` has them")
    texts = {Path(f"{name}.yaml"): packaged.text(name) for name in names}
    for path in texts:
        if path.exists():
            raise InputError(f"{path}: is there already; move it away, or copy in another folder")
    for path, text in texts.items():
        path.write_text(text, "utf-8")
        echo(path)
