"""`netlimits describe`: every key, option, default, unit and column, from the program's tables."""

from __future__ import annotations

from dataclasses import asdict

import click

from netlimits.cli.shared.lines import section_lines, wrapped
from netlimits.cli.shared.options import JSON
from netlimits.cli.shared.output import echo, echo_json


def _complete(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from netlimits.cli.shared import reference

    return [name for name in reference.topics() if name.startswith(begun)]


@click.command()
@click.argument("topic", required=False, metavar="[TOPIC]", shell_complete=_complete)
@JSON
def describe(topic: str | None, as_json: bool) -> None:
    """Print the reference of TOPIC, or list the topics.

    TOPIC is experiment, hosts, settings, tools, metrics, charts, checks or verdicts; or the name of
    one setting, tool, metric, column, chart or class of limits.

    \b
    Examples:
      netlimits describe experiment
      netlimits describe qdisc
      netlimits describe local_sd
      netlimits describe percentiles
      netlimits describe path-cap
    """
    from netlimits.cli.shared import reference

    if topic is None:
        if as_json:
            echo_json(reference.topics())
            return
        names = ", ".join(reference.listed())
        echo(wrapped(f"netlimits describe TOPIC: {names}; or a metric or column"))
        return
    sections = reference.described(topic)
    if as_json:
        echo_json([asdict(section) for section in sections])
        return
    echo("\n\n".join("\n".join(section_lines(section)) for section in sections))
