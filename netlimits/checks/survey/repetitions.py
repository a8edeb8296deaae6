"""Find configurations that set and measure the same as another configuration.

`experiment.validation.unused` rejects a factor that nothing uses. This module finds a factor that
only some configurations use, such as an option of one of two tools. Factors in `dummies` are not
reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from netlimits.checks import Finding
from netlimits.experiment import expressions
from netlimits.experiment.plan import Plan
from netlimits.model import SIDE, Values

NAME = "plan"
LARGE = 10_000
"""Maximum number of configurations; a larger plan is not searched for repetitions."""


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield warnings for configurations that are alike and for tools that no run uses."""
    for tool in plan.experiment.unchosen:
        yield _warning(
            f"measure.{tool}: no value of the factor `tool` chooses it",
            f"it is left out; add {tool} to the factor to measure with it",
        )
    if len(plan.configurations) > LARGE:
        return
    groups: dict[Any, list[Values]] = defaultdict(list)
    dummies = plan.experiment.dummies
    for configuration in plan.configurations:
        values = configuration.values
        ends = plan.experiment.ends_of(values)
        setup = repr(plan.setup(values)), repr(ends), *(repr(values.get(name)) for name in dummies)
        groups[setup].append(values)
    alike: dict[tuple[str, ...], list[list[Values]]] = defaultdict(list)
    for group in groups.values():
        if len(group) > 1:
            alike[_differing(group)].append(group)
    for names, several in alike.items():
        if names == (SIDE,) and plan.experiment.sides:
            yield _warning(
                f"both sides are the same in {len(several)} of their configurations",
                "only chance can differ there, which is what an A/A comparison is for",
            )
            continue
        count = sum(len(group) for group in several)
        first = ", ".join(
            f"{name} = {expressions.shown(value)}"
            for name, value in several[0][0].items()
            if name not in names and name not in plan.experiment.derive
        )
        where = f" where {first}{', and elsewhere' if len(several) > 1 else ''}" if first else ""
        yield _warning(
            f"only {len(several)} of {count} configurations differ: nothing that they set or "
            f"measure uses {' and '.join(names)}{where}",
            "their rows are repetitions of each other; exclude all but one of each",
        )


def _differing(group: list[Values]) -> tuple[str, ...]:
    return tuple(name for name in group[0] if len({repr(v[name]) for v in group}) > 1)


def _warning(problem: str, advice: str) -> Finding:
    return Finding("", NAME, "warning", problem, advice)
