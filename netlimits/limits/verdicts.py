"""Derive verdicts from signs: the verdict on a run, and on the runs of a configuration.

These verdicts are at most `suggested`, because only an intervention can prove a class. A verdict is
`undetermined` in three cases: no class fires, two classes fire and neither explains the other, or
the runs disagree. It then names the change that would decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean

from netlimits.limits import imported
from netlimits.limits.base import LEAST_SIGN, LimitClass, Sign
from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import RunFigures

UNDETERMINED = "undetermined"

AGREEMENT = 2 / 3
"""Minimum share of a configuration's runs that must have the same verdict. That verdict is then the
configuration's verdict."""

LEADING = 3
"""Maximum number of classes to plan interventions for, and of likely classes in a verdict."""

WEIGHTS = (1.0, 0.9, 0.3, 0.2)
"""Weights of a run's votes: the first for its verdict, the others for its next likely classes in
order."""

OF_CONNECTIONS = (
    *("rtt_us", "min_rtt_us", "cwnd_segs", "mss_bytes", "transport_mss_bytes"),
    *("rwnd_limited_pct", "sndbuf_limited_pct", "app_limited_pct", "busy_pct"),
)
"""Figures of TCP connections. Runs with UDP do not have them."""

TRANSACTIONS = "transaction_rate_tps"
"""Column that only request/response runs have."""

SUSPECT = "--next FILE --suspect CLASS tests a class that you suspect"
"""Advice if no class has a sign with a strength of LEAST_SIGN or more."""

DISAGREE = "The runs disagree"
"""Start of the sentence on a configuration whose runs have different verdicts."""

RIVALS, SHARED = ("sender-cpu", "receiver-cpu"), "host-full"
"""RIVALS are two classes that fire together if both ends lack CPU time. Neither explains the other.
If the class SHARED fires too, because both ends share a machine, it replaces them."""

IDLE = 0.5
"""Below this strength, classes in RIVALS and SHARED come last among the likely classes, because a
CPU that is half idle limits nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a run, or on a configuration.

    Attributes:
        limit: Name of a class, or UNDETERMINED.
        sentence: The evidence in words.
        figures: The figures behind the evidence, by name.
        runner_up: The next likely class, or "" if there is none.
        why_not: Why the runner-up is not the verdict.
        decide: The change that would prove the class, or other advice.
        share: Share of the runs that have the most frequent verdict.
        runs: Number of runs judged.
        leading: Classes whose interventions are worth making.
        likely: Classes with the strongest evidence, strongest first.
        of: Index, among the configuration's runs, of the run that sentence and figures come from;
            None if they come from no single run.
        scores: Class -> strength of its evidence, at most 1. For a configuration it is the mean
            over the runs.
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
    likely: tuple[str, ...] = ()
    of: int | None = None
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def points_to(self) -> str:
        """Return the likeliest class of an undetermined verdict; "" for other verdicts."""
        return self.likely[0] if self.limit == UNDETERMINED and self.likely else ""


def of_run(run: RunFigures) -> Verdict:
    signs = {limit: sign for limit in CLASSES if (sign := limit.sign(run)) is not None}
    scores = {limit.name: min(1.0, sign.strength) for limit, sign in signs.items()}
    likely = tuple(limit.name for limit in _near(signs))
    return replace(_of_signs(signs, run), likely=likely, scores=scores)


def _near(signs: dict[LimitClass, Sign]) -> list[LimitClass]:
    """Return up to LEADING classes with evidence, strongest first, CPU classes below IDLE last."""

    def strength(limit: LimitClass) -> float:
        return min(1.0, signs[limit].strength)

    def idle(limit: LimitClass) -> bool:
        return limit.name in (*RIVALS, SHARED) and strength(limit) < IDLE

    near = sorted((each for each in signs if strength(each) > 0), key=strength, reverse=True)
    return sorted(near[:LEADING], key=idle)


def _of_signs(signs: dict[LimitClass, Sign], run: RunFigures) -> Verdict:
    fired = [limit for limit, sign in signs.items() if sign.fires]
    if not fired:
        unjudged = [limit for limit in CLASSES if not _measured(limit, signs, run)]
        return _nothing(signs, unjudged, imported.hints(run))
    first = fired[0]
    rival = next((e for e in fired[1:] if {first.name, e.name} == {*RIVALS}), None)
    shared = next((each for each in fired if each.name == SHARED), None)
    if rival is not None:
        if shared is None:
            return _rivals(first, rival, signs, run)
        first = shared
    runner_up = _runner_up(first, signs)
    return Verdict(
        first.name,
        signs[first].sentence,
        dict(signs[first].figures),
        runner_up.name if runner_up else "",
        _why_not(first, runner_up, signs) if runner_up else "",
        signs[first].decide or first.intervention.decides(first.name),
        leading=(first.name, *((runner_up.name,) if runner_up else ())),
    )


def of_configuration(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the most frequent verdict; UNDETERMINED if a smaller share than AGREEMENT has it."""
    counts = Counter(verdict.limit for verdict in verdicts)
    limit, agreeing = counts.most_common(1)[0]
    share = agreeing / len(verdicts)
    of = _middle([verdict for verdict in verdicts if verdict.limit == limit])
    leading = tuple(dict.fromkeys(name for verdict in (of, *verdicts) for name in verdict.leading))
    likely = _likeliest(verdicts)
    scores = {name: mean(each.scores.get(name, 0.0) for each in verdicts) for name in likely}
    if share >= AGREEMENT:
        if limit == UNDETERMINED:  # prefer a run that points to the likeliest class
            same = [verdict for verdict in verdicts if verdict.points_to in likely[:1]]
            of = _middle(same or [of])
        place = next(at for at, verdict in enumerate(verdicts) if verdict is of)
        of = replace(of, share=share, runs=len(verdicts), leading=leading[:LEADING], likely=likely)
        return replace(of, of=place, scores=scores)
    words = ", ".join(f"{name} in {count}" for name, count in counts.most_common())
    agreed = counts[likely[0]]
    first = [verdict for verdict in verdicts if likely[0] in (verdict.limit, verdict.points_to)]
    nearest = len(first) - agreed
    # the likeliest class over all runs is not always the first of any run
    nearest_class = next(each for each in CLASSES if each.name == likely[0])
    decide = first[0].decide if first else nearest_class.intervention.decides(likely[0])
    more = f", and the nearest class of {nearest} more" if nearest else ""
    return Verdict(
        UNDETERMINED,
        f"{DISAGREE}: {words} of {len(verdicts)}.",
        {},
        likely[0],
        f"it is the verdict of only {agreed} of {len(verdicts)} runs{more}",
        decide,
        share,
        len(verdicts),
        leading[:LEADING],
        likely,
        scores=scores,
    )


def remaining(verdicts: Sequence[Verdict], refuted: Collection[str]) -> str:
    """Return the class that ranks first in AGREEMENT of the runs, without refuted classes.

    Each run ranks the class of its verdict first, then its likely classes with scores of at least
    LEAST_SIGN. Return "" if too few runs agree.
    """
    counts: Counter[str] = Counter()
    for verdict in verdicts:
        first = [verdict.limit] if verdict.limit != UNDETERMINED else []
        near = [name for name in verdict.likely if verdict.scores.get(name, 0.0) >= LEAST_SIGN]
        counts[next((name for name in (*first, *near) if name not in refuted), "")] += 1
    name, count = counts.most_common(1)[0]
    return name if count >= AGREEMENT * len(verdicts) else ""


def firing(verdicts: Sequence[Verdict], refuted: Collection[str]) -> str:
    """Return the first class in CLASSES, except refuted ones, that fires in AGREEMENT of the runs.

    Return "" if there is no such class, or if both RIVALS fire.
    """
    names = [
        each.name
        for each in CLASSES
        if each.name not in refuted
        and sum(verdict.scores.get(each.name, 0.0) >= 1 for verdict in verdicts)
        >= AGREEMENT * len(verdicts)
    ]
    return names[0] if names and not {*RIVALS} <= {*names} else ""


def _likeliest(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return up to LEADING classes with the most votes of the runs (see WEIGHTS), best first."""
    scores: dict[str, float] = {}
    for verdict in verdicts:
        names = [verdict.limit, *verdict.likely] if verdict.limit != UNDETERMINED else []
        # a run without a verdict gives its highest weight to no class
        names = list(dict.fromkeys(names)) or ["", *verdict.likely]
        for name, weight in zip(names, WEIGHTS, strict=False):
            scores[name] = scores.get(name, 0.0) + weight
    scores.pop("", None)
    return tuple(sorted(scores, key=lambda name: -scores[name]))[:LEADING]


def _measured(limit: LimitClass, signs: dict[LimitClass, Sign], run: RunFigures) -> bool:
    """Return True if a class has a sign, or if the run has all figures that the class needs."""
    ends = ("", "local_", "remote_")
    needs = [name for name in limit.needs if not (run.udp and name in OF_CONNECTIONS)]
    needs = [name for name in needs if name != TRANSACTIONS or run.throughput is None]
    return limit in signs or all(
        any(run.figure(f"{end}{name}") is not None for end in ends) for name in needs
    )


def _middle(verdicts: Sequence[Verdict]) -> Verdict:
    ordered = sorted(verdicts, key=lambda verdict: next(iter(verdict.figures.values()), 0.0))
    return ordered[(len(ordered) - 1) // 2]


def _nothing(
    signs: dict[LimitClass, Sign], unjudged: list[LimitClass], known: Mapping[str, str]
) -> Verdict:
    """Return the verdict if no class fires. It names the nearest class and all classes not judged.

    `known` maps classes to clauses with the few figures that are known about them.
    """
    sentence, decide = "No class has enough evidence.", SUSPECT
    if names := ", ".join(limit.name for limit in unjudged if limit.name not in known):
        sentence += f" Not checked, for lack of figures: {names}."
    for name in (limit.name for limit in unjudged if limit.name in known):
        sentence += f" Not decided: {name} ({known[name]})."
    if len(unjudged) > len(CLASSES) / 2:
        decide = "measure with `netlimits run`, which also reads the evidence, 5 s a run or longer"
    nearest = next(iter(_near(signs)), None)
    if nearest is None:
        return Verdict(UNDETERMINED, sentence, {}, decide=decide)
    near = signs[nearest].strength >= LEAST_SIGN
    return Verdict(
        UNDETERMINED,
        sentence,
        dict(signs[nearest].figures),
        nearest.name,
        _short(signs[nearest]),
        signs[nearest].decide or nearest.intervention.decides(nearest.name) if near else decide,
        leading=(nearest.name,) if near else (),
    )


def _rivals(
    first: LimitClass, rival: LimitClass, signs: dict[LimitClass, Sign], run: RunFigures
) -> Verdict:
    """Return the verdict if both ends lack CPU time: counters cannot show which is the limit."""
    why = (
        "both ends are one machine, whose CPUs they share"
        if run.one_machine
        else "both ends are out of CPU"
    )
    return Verdict(
        UNDETERMINED,
        f"{signs[first].sentence} {signs[rival].sentence} Which of them decides cannot be told: "
        f"{why}.",
        {**signs[first].figures, **signs[rival].figures},
        rival.name,
        why,
        f"{first.intervention.decides(first.name)}. Or {rival.intervention.decides(rival.name)}",
        leading=(first.name, rival.name),
    )


def _runner_up(first: LimitClass, signs: dict[LimitClass, Sign]) -> LimitClass | None:
    others = [limit for limit in signs if limit is not first]
    best = max(others, key=lambda limit: signs[limit].strength, default=None)
    return best if best and signs[best].strength >= LEAST_SIGN else None


def _why_not(first: LimitClass, other: LimitClass, signs: dict[LimitClass, Sign]) -> str:
    if signs[other].fires:
        return f"its evidence is sufficient too, but {first.name} explains it"
    return _short(signs[other])


def _short(sign: Sign) -> str:
    return f"{sign.weakest.short} (evidence {min(0.99, int(100 * sign.strength) / 100):.2f} of 1)"
