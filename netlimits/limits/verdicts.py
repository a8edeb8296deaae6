"""From signs to a verdict: of one run, and of the runs of a configuration.

One run's counters suggest, an intervention proves; so a verdict is `suggested` at most. Where no
class fires, where two fire of which neither explains the other, and where runs disagree, it is
`undetermined`, with what would decide it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from netlimits.limits.base import LEAST_SIGN, LimitClass, Sign
from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import RunFigures

UNDETERMINED = "undetermined"

AGREEMENT = 2 / 3
"""Share of a configuration's runs that must have one verdict, for it to be the configuration's."""

LEADING = 3
"""How many classes of a configuration, at most, are worth an intervention each."""

RIVALS = ("sender-cpu", "receiver-cpu")
"""Classes that fire together without one explaining the other: both ends are out of CPU."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What limited one run, or a configuration.

    `limit` is a class's name or UNDETERMINED; `share` the part of the runs that agree;
    `runner_up` the next class, if any, and `why_not` why it is not the verdict; `decide` what
    would settle it, by the interventions of the `leading` classes.
    """

    limit: str
    sentence: str
    figures: dict[str, float]
    runner_up: str = ""
    why_not: str = ""
    decide: str = ""
    share: float = 1.0
    runs: int = 1
    leading: tuple[str, ...] = ()


def of_run(run: RunFigures) -> Verdict:
    """The verdict of one run."""
    signs = {limit: sign for limit in CLASSES if (sign := limit.sign(run)) is not None}
    fired = [limit for limit, sign in signs.items() if sign.fires]
    if not fired:
        return _nothing(signs, [limit for limit in CLASSES if limit not in signs])
    first = fired[0]
    rival = next((e for e in fired[1:] if {first.name, e.name} == {*RIVALS}), None)
    if rival is not None:
        return _rivals(first, rival, signs, run)
    runner_up = _runner_up(first, signs)
    return Verdict(
        first.name,
        signs[first].sentence,
        dict(signs[first].figures),
        runner_up.name if runner_up else "",
        _why_not(first, runner_up, signs) if runner_up else "",
        f"{first.intervention.change}: {first.intervention.expectation}",
        leading=(first.name, *((runner_up.name,) if runner_up else ())),
    )


def of_configuration(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict that most runs have; UNDETERMINED where fewer than AGREEMENT of them agree.

    Sentence and figures are those of the first run that agrees.
    """
    counts = Counter(verdict.limit for verdict in verdicts)
    (limit, agreeing), *others = counts.most_common()
    share = agreeing / len(verdicts)
    of = next(verdict for verdict in verdicts if verdict.limit == limit)
    leading = tuple(dict.fromkeys(name for verdict in (of, *verdicts) for name in verdict.leading))
    if share >= AGREEMENT:
        return replace(of, share=share, runs=len(verdicts), leading=leading[:LEADING])
    words = ", ".join(f"{name} in {count}" for name, count in counts.most_common())
    return Verdict(
        UNDETERMINED,
        f"The runs disagree: {words} of {len(verdicts)}.",
        {},
        others[0][0] if others else "",
        "its runs are fewer" if others else "",
        of.decide,
        share,
        len(verdicts),
        leading[:LEADING],
    )


def _nothing(signs: dict[LimitClass, Sign], unjudged: list[LimitClass]) -> Verdict:
    """The verdict where no class fires: it names the nearest one, and those without figures."""
    names = ", ".join(limit.name for limit in unjudged)
    sentence = "No class of limits has enough evidence"
    sentence += f"; not measured: what {names} would show." if names else "."
    nearest = max(signs, key=lambda limit: signs[limit].strength, default=None)
    if nearest is None or signs[nearest].strength < LEAST_SIGN:
        decide = "runs made by netlimits, which reads the evidence" if names else ""
        return Verdict(UNDETERMINED, sentence, {}, decide=decide)
    why = f"{100 * signs[nearest].strength:.0f} % of its threshold: {signs[nearest].sentence}"
    return Verdict(
        UNDETERMINED,
        sentence,
        dict(signs[nearest].figures),
        nearest.name,
        why,
        nearest.intervention.change,
        leading=(nearest.name,),
    )


def _rivals(
    first: LimitClass, rival: LimitClass, signs: dict[LimitClass, Sign], run: RunFigures
) -> Verdict:
    """The verdict where both ends are out of CPU: counters cannot tell which of them decides."""
    why = (
        "both ends are one machine, whose CPUs they share"
        if run.one_machine
        else "both ends have a CPU that is fully busy"
    )
    return Verdict(
        UNDETERMINED,
        f"{signs[first].sentence} {signs[rival].sentence} Which of them decides cannot be told: "
        f"{why}.",
        {**signs[first].figures, **signs[rival].figures},
        rival.name,
        why,
        f"{first.intervention.change}, or {rival.intervention.change}",
        leading=(first.name, rival.name),
    )


def _runner_up(first: LimitClass, signs: dict[LimitClass, Sign]) -> LimitClass | None:
    others = [limit for limit in signs if limit is not first]
    best = max(others, key=lambda limit: signs[limit].strength, default=None)
    return best if best and signs[best].strength >= LEAST_SIGN else None


def _why_not(first: LimitClass, other: LimitClass, signs: dict[LimitClass, Sign]) -> str:
    if signs[other].fires:
        return f"it fires too, and {first.name} comes before what it leads to"
    return f"{100 * signs[other].strength:.0f} % of its threshold: {signs[other].sentence}"
