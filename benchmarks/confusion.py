"""Labels against verdicts: the matrix, the shares with their intervals, thresholds and halves.

Pure: what `verdicts.py` made goes in, lines come out.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from types import ModuleType
from unittest.mock import patch

from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import RunFigures
from netlimits.limits.verdicts import UNDETERMINED, of_run

SCALES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)
"""What a threshold is tried at, times what it is."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A run that was made on purpose: what it was made as, the verdicts that are right, figures."""

    label: str
    right: Collection[str]
    run: RunFigures


def halves(runs: Sequence[Labelled]) -> tuple[list[Labelled], list[Labelled]]:
    """Every second run of each label: those that thresholds are chosen on, and the others."""
    place: Counter[str] = Counter()
    parts: tuple[list[Labelled], list[Labelled]] = ([], [])
    for run in runs:
        parts[place[run.label] % 2].append(run)
        place[run.label] += 1
    return parts


def wilson(part: int, whole: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share (Wilson 1927; Brown, Cai and DasGupta 2001)."""
    if not whole:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share, weight = part / whole, z * z / whole
    middle = (share + weight / 2) / (1 + weight)
    width = z / (1 + weight) * (share * (1 - share) / whole + weight / whole / 4) ** 0.5
    return max(0.0, middle - width), min(1.0, middle + width)


def shown(part: int, whole: int) -> str:
    """A share with its interval, percent."""
    low, high = (100 * side for side in wilson(part, whole))
    share = f"{100 * part / whole:.1f} %" if whole else "–"
    return f"{part} of {whole}, {share} [{low:.1f}, {high:.1f}]"


@dataclass(frozen=True, slots=True)
class Judged:
    """A label, the verdicts that are right for it, and the verdict that came out."""

    label: str
    right: Collection[str]
    verdict: str

    @property
    def is_right(self) -> bool:
        """Whether the verdict is one of those."""
        return self.verdict in self.right


def judged(runs: Sequence[Labelled]) -> list[Judged]:
    """Each run with the verdict that it gets by itself."""
    return [Judged(each.label, each.right, of_run(each.run).limit) for each in runs]


def summary(rows: Sequence[Judged]) -> Iterator[str]:
    """How many verdicts are right, and how many are none."""
    told = [row for row in rows if row.verdict != UNDETERMINED]
    yield f"right, of the determined: {shown(sum(row.is_right for row in told), len(told))}"
    yield f"undetermined: {shown(len(rows) - len(told), len(rows))}"


def matrix(rows: Sequence[Judged]) -> Iterator[str]:
    """Label × verdict, as a table in Markdown; right verdicts are bold."""
    labels = list(dict.fromkeys(row.label for row in rows))
    order = [*(limit.name for limit in CLASSES), UNDETERMINED]
    order += sorted({row.verdict for row in rows} - {*order})
    verdicts = [name for name in order if any(row.verdict == name for row in rows)]
    counts = Counter((row.label, row.verdict) for row in rows)
    right = {row.label: row.right for row in rows}
    yield f"| made as | {' | '.join(verdicts)} |"
    yield f"|---|{'---|' * len(verdicts)}"
    for label in labels:
        cells = []
        for verdict in verdicts:
            count = counts[label, verdict]
            text = f"**{count}**" if count and verdict in right[label] else str(count or "")
            cells.append(text)
        yield f"| {label} | {' | '.join(cells)} |"


def mistakes(runs: Sequence[Labelled]) -> Iterator[str]:
    """Each run whose verdict is not right, with the sentence and the strength of what is."""
    for each in runs:
        verdict = of_run(each.run)
        if verdict.limit in each.right:
            continue
        yield f"{each.label}: {verdict.limit}: {verdict.sentence}"
        for limit in CLASSES:
            if limit.name in each.right:
                sign = limit.sign(each.run)
                yield f"    {limit.name}: " + (
                    f"{sign.strength:.2f}: {sign.sentence}" if sign else "not measured"
                )


def _cost(runs: Sequence[Labelled]) -> float:
    """What wrong and missing verdicts weigh: a wrong one as much as five that are missing."""
    verdicts = judged(runs)
    none = sum(row.verdict == UNDETERMINED for row in verdicts)
    wrong = sum(not row.is_right for row in verdicts) - none
    return 5 * wrong + none


def _thresholds() -> Iterator[tuple[ModuleType, str]]:
    """The constants of the classes' modules, each once."""
    for name in dict.fromkeys(type(limit).__module__ for limit in CLASSES):
        module = sys.modules[name]
        for constant, value in vars(module).items():
            if constant.isupper() and type(value) is float:
                yield module, constant


def choices(runs: Sequence[Labelled]) -> Iterator[str]:
    """For each threshold the values, of those tried, at which the runs' verdicts are best."""
    yield f"cost as they are: {_cost(runs):g}"
    for module, constant in _thresholds():
        value = getattr(module, constant)
        costs = {}
        for scale in SCALES:
            with patch.object(module, constant, value * scale):
                costs[value * scale] = _cost(runs)
        best = min(costs.values())
        values = [at for at, cost in costs.items() if cost == best]
        mark = "" if value in values else "  <- not as it is"
        where = f"{module.__name__.rpartition('.')[2]}.{constant}"
        yield f"{where} = {value:g}: {best:g} from {values[0]:g} to {values[-1]:g}{mark}"
