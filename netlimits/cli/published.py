"""`netlimits published`: regenerate what the reports show, and compare it with what they print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.cli.shared.options import JSON, Output
from netlimits.cli.shared.output import echo

if TYPE_CHECKING:
    from netlimits.reproduce import Comparison, Item, Regenerated, Report


@click.command()
@click.option(
    "--out",
    type=Output(folder=True),
    metavar="DIR",
    help="Write every table (CSV, Markdown) and chart (PNG, SVG) to this folder, and compare them.",
)
@JSON
@click.pass_context
def published(context: click.Context, out: Path | None, as_json: bool) -> None:
    """List the tables and charts of four published reports, or make them again and compare them.

    With --out, each item is printed with the value of the report and the value that was computed.
    DIR/comparison.csv, .md and .json have the same. The words mean:

    \b
      agrees      recomputed from other printed numbers: the same
      differs     recomputed: not the same
      as printed  cannot be checked; protects the transcription of a table
      slip        a known error in the report
      hedged      the report says "about", "nearly" or a range
      beside      stated in the report; the value beside it was computed from something else
      no data     stated without data; the experiment that measures it is named
      condition   a condition of the measurement, quoted

    Exit status: 0 if nothing differs, 1 if something does.

    \b
    Examples:
      netlimits published
      netlimits published --json
      netlimits published --out published/
    """
    from netlimits import reproduce

    if out is None:
        echo(_listing_json() if as_json else _listing())
        return
    report = None
    done = []
    for part in reproduce.regenerate(out):
        if not as_json:
            if part.report is not report:
                echo(f"{part.report.title}")
            echo(_regenerated(part, out))
        report = part.report
        done.append(part)
    rows = [row for part in done for row in part.comparisons]
    summary = reproduce.write_comparison(rows, out)
    if as_json:
        echo(_regenerated_json(done, summary))
    else:
        echo(reproduce.tally(rows))
        echo("\n".join(str(path) for path in summary))
    if any(row.verdict == "differs" for row in rows):
        context.exit(1)


def _listing() -> str:
    """Return the lines of every item: kind, heading, data, and the experiment that measures it."""
    from netlimits.reproduce import REPORTS

    lines = []
    for report in REPORTS:
        lines += ["", f"{report.name}: {report.title}"]
        for item in report.items:
            lines.append(f"  {item.kind:<8}{item.heading}")
            lines.append(f"          data: {_data(item)}; measured by: {_experiment(item)}")
            if item.remark:
                lines.append(f"          {item.remark}")
    return "\n".join(lines[1:])


def _data(item: Item) -> str:
    from netlimits.reproduce.published import resource

    if item.data:
        return ", ".join(f"data/{resource(name)['path']}" for name in item.data)
    return "none" if "needs no data" not in item.remark else "none needed"


def _experiment(item: Item) -> str:
    """Return the experiment's file, or its name if the file does not exist yet."""
    path = _file(item)
    return path.as_posix() if path else f"{item.experiment} (not shipped yet)"


def _file(item: Item) -> Path | None:
    """Return `experiments/NAME.yaml` if that file exists here or in the checkout, else None.

    The path is relative, so that the output is the same on every machine.
    """
    import netlimits

    checkout = Path(netlimits.__file__).resolve().parent.parent
    path = Path("experiments") / f"{item.experiment}.yaml"
    return path if path.is_file() or (checkout / path).is_file() else None


def _listing_json() -> str:
    from netlimits.reproduce import ITEMS

    return json.dumps([_item(report, item) for report, item in ITEMS], indent=1, ensure_ascii=False)


def _item(report: Report, item: Item) -> dict[str, Any]:
    path = _file(item)
    return {
        "report": report.name,
        "title": report.title,
        "item": item.name,
        "kind": item.kind,
        "heading": item.heading,
        "data": list(item.data),
        "experiment": item.experiment,
        "experiment_file": path.as_posix() if path else None,
        "remark": item.remark,
    }


def _regenerated(part: Regenerated, out: Path) -> str:
    """Return the lines about an item: its heading, its files, and each comparison."""
    lines = []
    if part.item:
        lines.append(f"  {part.item.kind}: {part.item.heading}")
        if part.files:
            names = [str(path.relative_to(out)) for path in part.files]
            lines.append(f"    wrote {', '.join(names)}")
        if part.item.kind == "chart" and _data(part.item) == "none":
            lines.append(f"    {part.item.remark}; {_experiment(part.item)} measures it")
    elif part.comparisons:
        lines.append("  stated beside these:")
    return "\n".join([*lines, *map(_compared, part.comparisons)])


def _compared(row: Comparison) -> str:
    if row.verdict == "condition":
        return f"    {row.verdict:<11}{row.what}: {row.printed}"
    values = f"printed {row.printed}"
    if row.verdict == "no data":
        values += f"; in the lab, {row.came_out}" if row.came_out != "–" else ""
    else:
        values += f", came out {row.came_out}"
    remark = f" ({row.remark})" if row.remark else ""
    return f"    {row.verdict:<11}{row.what}: {values}{remark}"


def _regenerated_json(done: list[Regenerated], summary: list[Path]) -> str:
    from dataclasses import asdict

    document = {
        "items": [
            {**_item(part.report, part.item), "files": [str(path) for path in part.files]}
            for part in done
            if part.item
        ],
        "comparisons": [asdict(row) for part in done for row in part.comparisons],
        "files": [str(path) for path in summary],
    }
    return json.dumps(document, indent=1, ensure_ascii=False)
