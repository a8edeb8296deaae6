"""`netlimits explain`: what limited each configuration, the evidence, and how to prove it."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.cli.shared.options import JSON, RESULTS, Output, writing
from netlimits.cli.shared.options.tables import TableOptions, table_options
from netlimits.cli.shared.output import echo, echo_json
from netlimits.cli.shared.results import Results, opened
from netlimits.errors import DataError, InputError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.archive.reader import Campaign

_WIDTH = 96


@click.command()
@RESULTS
@click.option("--run", type=click.IntRange(1), help="Explain one run only, by its number.")
@click.option(
    "--config",
    "chosen",
    multiple=True,
    metavar="FACTOR=VALUE",
    help="Only configurations with this value. Repeatable: several values of a factor mean any of "
    "them.",
)
@click.option(
    "--next",
    "sequel",
    type=Output(folder=False, fresh=True),
    metavar="FILE",
    help="Write the experiment that would prove the verdicts to this file.",
)
@click.option(
    "--suspect",
    "suspects",
    multiple=True,
    metavar="CLASS",
    help="With --next: a class to test in every configuration, whatever the counters show. "
    "Repeatable.",
)
@table_options
@JSON
def explain(
    results: Path,
    run: int | None,
    chosen: tuple[str, ...],
    sequel: Path | None,
    suspects: tuple[str, ...],
    as_json: bool,
    reading: TableOptions,
) -> None:
    """Report what limited RESULTS: a campaign's folder, or a CSV or Parquet file of runs.

    Each configuration gets a verdict: the class of limit, the share of the runs that agree, the
    evidence of one of these runs, and the runner-up with the reason why it is not the verdict.
    After the verdict come medians of all runs, and the bounds: the rate that each mechanism allowed
    in the run of the evidence. Counters only suggest a limit, so `explain` also names the change
    that would prove it. The verdict may be `undetermined`; then the likeliest classes are named,
    or, if all runs failed, the reasons.

    --next writes the experiment that would prove the verdicts: the same configurations, with and
    without the change, in the same blocks. Run it, and `explain` its results: each verdict is then
    `proven`, `refuted` or `open`, with the ratio of throughput within blocks and its interval.
    `netlimits describe verdicts` lists the classes.

    \b
    Examples:
      netlimits explain results/stateless-offloads-20260101-120000
      netlimits explain results/udp-send-size-20260101-120000 --config send_size=64 --json
      netlimits explain results/quickstart-20260101-120000 --run 3
      netlimits explain results/udp-send-size-20260101-120000 --next proof.yaml
      netlimits explain results/tso-20260101-120000 --config tso=on --next proof.yaml
    """
    from netlimits.analysis import attempts, caveats, frames
    from netlimits.limits import explained, known

    reading.refuse_names()
    source = opened(
        results, needed=lambda _: frozenset((*frames.RUN_COLUMNS, "disturbed_pct")), reading=reading
    )
    if sequel or suspects:
        if run is not None:
            raise InputError("--next needs configurations; choose some with --config")
        if as_json:
            raise InputError("--json is for verdicts; --next writes an experiment")
        _write_sequel(source, sequel, suspects, chosen)
        return
    of = source.campaign or source.frame
    if run is not None and run not in {*source.frame.get("run", ())}:
        raise DataError(f"{results}: run {run} has not run, or is not in the plan")
    try:
        verdicts = explained.explain(of) if run is None else explained.runs(of, run)
    except DataError as error:
        raise (error if source.campaign else DataError(f"{results}: {error}")) from None
    if run is not None and verdicts.empty:
        raise DataError(f"{results}: run {run} is not ok; `netlimits status` names the reason")
    verdicts = _chosen(verdicts, chosen, results)
    if as_json:
        rows = json.loads(verdicts.to_json(orient="records", double_precision=6))
        echo_json(rows)
    else:
        derived = source.campaign.experiment.derived if source.campaign else ()
        if line := known.one_kernel(verdicts["known_figures"]):
            echo("\n".join([*_wrapped(line, 0), ""]))
        for _, row in verdicts.iterrows():
            echo("\n".join(_lines(row, derived)))
        if source.campaign and run is None and _can_continue(source.campaign):
            for line in _commands(verdicts, shlex.quote(str(results))):
                echo(line)
    if caveat := caveats.disturbance(attempts.last_attempts(source.frame)):
        echo(caveat, err=as_json)


def _write_sequel(
    results: Results, path: Path | None, suspects: tuple[str, ...], chosen: tuple[str, ...]
) -> None:
    from netlimits.cli.shared.lines import lasting
    from netlimits.experiment import load
    from netlimits.experiment.plan import Plan, seeded
    from netlimits.limits import CLASSES, sequel
    from netlimits.limits.explained import explain

    names = [each.name for each in CLASSES]
    for suspect in suspects:
        if suspect not in names:
            raise InputError(
                f"--suspect {suspect}: there is no such class{did_you_mean(suspect, names)}"
            )
    if path is None:
        raise InputError("--suspect needs --next FILE")
    if results.campaign is None:
        raise DataError(f"{results.path}: --next needs a campaign's folder, not a file of runs")
    if chosen:
        _chosen(explain(results.campaign), chosen, results.path)
    only: dict[str, list[str]] = {}
    for pair in chosen:
        factor, _, value = pair.partition("=")
        own = factor if factor in results.frame.columns else factor.removesuffix("_")
        only.setdefault(own, []).append(value)
    text = sequel.sequel(results.campaign, suspects, only)
    planned = Plan(seeded(load.parse(text, path)))
    with writing(path), path.open("x", encoding="utf-8") as file:
        file.write(text)
    echo(path)
    echo(f"{len(planned):,} runs, about {lasting(planned.seconds())}", err=True)


def _chosen(verdicts: pd.DataFrame, chosen: tuple[str, ...], results: Path) -> pd.DataFrame:
    from netlimits.analysis import wording
    from netlimits.limits.explained import COLUMNS, heading

    factors = [name for name in verdicts.columns if name not in COLUMNS]
    wanted: dict[str, list[str]] = {}
    for pair in chosen:
        factor, equals, value = pair.partition("=")
        factor = heading(factor)
        if not equals or factor not in factors:
            raise DataError(
                f"--config {pair}: write FACTOR=VALUE with one of {wording.listed(factors)}"
            )
        texts = verdicts[factor].map(wording.text)
        if value not in set(texts):
            values = ", ".join(dict.fromkeys(texts))
            raise DataError(f"{results}: {factor} is never {value}; it is {values}")
        wanted.setdefault(factor, []).append(value)
    for factor, texts_of in wanted.items():
        verdicts = verdicts[verdicts[factor].map(wording.text).isin(texts_of)]
    if verdicts.empty:
        raise DataError(f"{results}: no configuration has {' and '.join(chosen)}")
    return verdicts


def _lines(row: pd.Series[Any], derived: Collection[str]) -> list[str]:
    """Return the lines of a verdict: configuration, class, evidence, runner-up, how to decide."""
    from netlimits.analysis import wording
    from netlimits.limits.base import OPEN, REFUTED
    from netlimits.limits.calibration import Likelihood
    from netlimits.limits.explained import COLUMNS
    from netlimits.limits.verdicts import DISAGREE, UNDETERMINED

    factors = [name for name in row.index if name not in (*COLUMNS, *derived)]
    where = ", ".join(
        f"{name} {wording.text(row[name])}" for name in factors if not wording.is_missing(row[name])
    )
    state = f"{row['state']}, " if row["proof"] else ""
    if row["state"] in (OPEN, REFUTED) and row["proof"] and row["class"] != UNDETERMINED:
        state += "suggested by "
    lines = [f"{where or 'all runs'}: {row['class']} ({state}{_agreement(row)})"]
    if likely := [str(Likelihood(**each)) for each in row["likely"]]:
        lines += _wrapped(f"Likeliest: {', then '.join(likely)}")
    of = "" if wording.is_missing(row["of_run"]) else f"Run {row['of_run']:.0f}: "
    lines += _wrapped(("" if row["evidence"].startswith(DISAGREE) else of) + row["evidence"])
    if row["over_time"]:
        lines += _wrapped(row["over_time"])
    if row["not_ok"] and row["runs"]:
        lines += _wrapped(f"Not counted: {row['not_ok']}")
    if row["proof"]:
        lines += _wrapped(row["proof"])
    if row["runner_up"]:
        near = row["runner_up"] == row["points_to"]
        start = f"Nearest is {row['runner_up']}, but" if near else f"Not {row['runner_up']}:"
        lines += _wrapped(f"{start} {row['why_not']}")
    for column in ("known", "bounds"):
        if row[column]:
            lines += _listed(row[column])
    if row["decide"]:
        lines += _wrapped(f"To decide: {row['decide']}")
    return [*lines, ""]


def _agreement(row: pd.Series[Any]) -> str:
    from netlimits.analysis import wording
    from netlimits.limits.verdicts import DISAGREE

    runs = row["runs"]
    if runs < 2:
        return "1 run" if runs else "–"
    sample = f", by {row['judged']:,} of them" if row["judged"] < runs else ""
    if wording.is_missing(row["confidence"]) or row["evidence"].startswith(DISAGREE):
        return f"{runs:,} runs{sample}"
    return f"{100 * row['confidence']:.0f} % of {runs:,} runs{sample}"


def _can_continue(campaign: Campaign) -> bool:
    """Return True if --next can continue the campaign: it ran here, on two hosts, with one side."""
    return not (campaign.imported or campaign.experiment.mesh or campaign.experiment.sides)


def _commands(verdicts: pd.DataFrame, results: str) -> Iterator[str]:
    from netlimits.limits.base import BY_HAND
    from netlimits.limits.proof import MORE, MORE_BLOCKS

    suggested = verdicts[verdicts["state"] == "suggested"]
    if not suggested["decide"].str.contains(BY_HAND, regex=False).all():
        yield f"Prove it: netlimits explain {results} --next proof.yaml"
    if verdicts["decide"].eq(MORE_BLOCKS).any():
        yield f"Add blocks: netlimits extend {results} --replicates {MORE}"


def _listed(text: str) -> list[str]:
    """Split a sentence such as "Known: …; …; …." into its head and one line for each clause."""
    head, _, clauses = text.partition(": ")
    lines = [f"  {head}:"]
    for clause in re.sub(r"; (?=[^()]*(?:\(|$))", "\n", clauses.removesuffix(".")).split("\n"):
        lines += _wrapped(clause, 4)
    return lines


def _wrapped(text: str, indent: int = 2) -> list[str]:
    """Wrap a sentence, and keep a number and its % on one line."""
    lines = textwrap.wrap(
        text.replace(" %", "\N{NO-BREAK SPACE}%"),
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_on_hyphens=False,
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
