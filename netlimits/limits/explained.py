"""Verdicts on the configurations of a campaign, or of a frame of runs, as a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from netlimits.analysis import attempts, frames, wording
from netlimits.analysis.profile import sentences
from netlimits.errors import DataError
from netlimits.limits import bounds, calibration, imported, known, over_time, proof
from netlimits.limits.base import OPEN, PROVEN, REFUTED
from netlimits.limits.classes import CLASSES
from netlimits.limits.evidence import evidence_of
from netlimits.limits.figures import RunFigures
from netlimits.limits.verdicts import UNDETERMINED, Verdict, of_configuration, of_run

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.archive.reader import Campaign


def explain(results: Campaign | pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts, one row for each configuration.

    Args:
        results: A campaign, or a frame of runs. The link of a frame's runs is unknown, so
            throughput is not compared with the link's rate.

    Returns:
        A frame with the configuration's factors and these columns:

        - `class`: the class of limits.
        - `state`: `suggested` or `undetermined`. In a campaign with interventions (see `sequel`) it
          is `proven`, `refuted` or `open`.
        - `proof`: the results of the interventions in words.
        - `ratio`, `ratio_low`, `ratio_high`: the ratio of throughput with the change to throughput
          without it, and its 95 % interval.
        - `confidence`: the share of the judged runs that have the most frequent verdict.
        - `evidence`, `figures`: the evidence in words, and its figures by name.
        - `of_run`: the number of the run that evidence and bounds come from, if the configuration
          has several runs.
        - `runner_up`, `why_not`: the next likely class, and why it is not the verdict.
        - `decide`: the change that would prove the class, or other advice.
        - `points_to`, `likely`: the likeliest class of an undetermined configuration, and its two
          likeliest classes with their scores (`calibration.Likelihood`).
        - `runs`, `judged`, `not_ok`: the number of ok runs, how many of them were judged (at most
          `evidence.JUDGED`), and how the other runs ended.
        - `over_time`: when throughput changed during a run, and the verdicts before and after.
        - `known`, `known_figures`: facts that hold whatever the verdict, in words and as figures.
        - `bounds`, `bounds_mbps`: the upper bounds on throughput by mechanism, in words (empty for
          a proven class) and in Mbit/s.

        A configuration whose runs all failed is undetermined with 0 runs, and its evidence says
        how they ended.

    Raises:
        DataError: No run is ok, or no column distinguishes the configurations.
    """
    import pandas as pd

    frame, evidence = evidence_of(results)
    rows = {index: of_run(run) for index, run in evidence.items()}
    factors = _identifying(frame)
    every = attempts.with_outcome(
        results if isinstance(results, pd.DataFrame) else results.frame(frames.RUN_COLUMNS)
    )
    bad = every[every["status"] != "ok"] if "status" in every.columns else every[:0]
    marked, direction = _profiled(results), frames.direction(frame)
    rows_of = []
    for part in configurations(frame):
        values = {heading(name): part[name].iloc[0] for name in factors}
        row = values | _judged(part, frame, rows, evidence)
        rest = _alike(bad, part)
        row["not_ok"] = wording.outcomes(rest) if len(rest) else ""
        row["runs"] = _ok_runs(part, row["judged"])
        row["proof"] = " ".join([row["proof"], *proof.unmade(part, rest)]).strip()
        row["over_time"] = over_time.sentence(results, proof.bare(part), evidence, row["of_run"])
        row |= _of_runs(part, row["of_run"], evidence)
        if spent := [*sentences.clauses(_alike(marked, part), direction)]:
            row["known"] = f"{row['known'].removesuffix('.') or 'Known:'}; {'; '.join(spent)}."
        if row["state"] == PROVEN:  # the proof replaces the computed bounds
            row["bounds"] = ""
        rows_of.append(row)
    for part in _failed(bad, frame):
        sentence = f"0 of {len(part)} runs ok ({wording.outcomes(part)})"
        verdict = Verdict(UNDETERMINED, sentence, {}, share=float("nan"), runs=0)
        values = {heading(name): part[name].iloc[0] for name in factors}
        row = values | _row(verdict, tested=proof.tested(frame))
        rows_of.append(row | {"not_ok": wording.outcomes(part)})
    return pd.DataFrame(rows_of).astype({"of_run": "Int64"})


def _profiled(results: Campaign | pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    if isinstance(results, pd.DataFrame):
        return sentences.runs(results)
    has_profiles = "profile" in results.experiment.around
    return sentences.runs(results.frame(None if has_profiles else frames.RUN_COLUMNS))


def _ok_runs(part: pd.DataFrame, judged: int) -> int:
    counts: Mapping[str, int] = part.attrs.get("runs", {})
    return counts.get(str(part["config"].iloc[0]), judged) if counts else judged


def _identifying(frame: pd.DataFrame) -> list[str]:
    several = "config" in frame.columns and frame["config"].nunique(dropna=False) > 1
    return proof.factors(frame) or (["config"] if several and not proof.tested(frame) else [])


def _of_runs(
    part: pd.DataFrame, index: Any | None, evidence: Mapping[Any, RunFigures]
) -> dict[str, Any]:
    """Return the columns `known`, `bounds` and `of_run` of a configuration.

    The bounds are those of the run at `index`. If that is None, the run with the median throughput
    is used.
    """
    bare = proof.bare(part)
    if bare.empty:
        bare = part
    runs = [evidence[at] for at in bare.index]
    if index is None:
        ordered = sorted(bare.index, key=lambda at: evidence[at].throughput or 0.0)
        index = ordered[(len(ordered) - 1) // 2]
    changed = [evidence[at].throughput or 0.0 for at in part.index.difference(bare.index)]
    number = int(part["run"][index]) if "run" in part.columns and len(runs) > 1 else None
    return {**_known(runs, evidence[index], number, max(changed, default=0.0)), "of_run": number}


def _known(
    runs: Sequence[RunFigures], of: RunFigures, number: int | None = None, passed: float = 0.0
) -> dict[str, Any]:
    """Return the `known` columns of `runs`, and the `bounds` columns of the run `of`.

    `passed` is the highest throughput of the runs with a change. If a shared mechanism has a lower
    bound than that, the bound must be wrong and is omitted.
    """
    figures = known.figures(runs)
    bounding = {
        name: bound
        for name, bound in bounds.of_run(of).items()
        if name not in bounds.SHARED or bound.mbps >= passed
    }
    return {
        "known": imported.known(runs) or known.sentence(figures, len(runs)),
        "known_figures": figures,
        "bounds": bounds.sentence(bounding, of.throughput, number)
        if of.throughput
        else bounds.transactions(of),
        "bounds_mbps": {name: bound.mbps for name, bound in bounding.items()},
    }


def limited_by(results: Campaign | pd.DataFrame) -> pd.Series[str]:
    """Return what limits each run: the class of its configuration.

    Args:
        results: A campaign, or a frame of runs, as in `explain`.

    Returns:
        Class of limits of each ok run, indexed like the frame. It is `undetermined` if a proof
        refuted the class.

    Raises:
        DataError: No run is ok, or no column distinguishes the configurations.

    Example:
        >>> frame = campaign.frame()
        >>> frame = frame.assign(limited_by=nl.limited_by(campaign))
        >>> nl.charts.spread(frame, of="throughput")  # marks each point with its limit
    """
    import pandas as pd

    by_config, by_index = _limits(results)
    if by_index:
        return pd.Series(by_index, name=frames.LIMITED_BY, dtype=object)
    runs = results if isinstance(results, pd.DataFrame) else results.frame(frames.RUN_COLUMNS)
    return with_limits(frames.usable(runs), by_config)


def with_limits(frame: pd.DataFrame, by_config: Mapping[str, str]) -> pd.Series[str]:
    """Return what limited each ok run of a frame; `by_config` maps configurations to limits."""
    configs = frame["config"].astype(object)
    if "status" in frame.columns:
        configs = configs[frame["status"] == "ok"]
    return configs.map(by_config).rename(frames.LIMITED_BY)


def limits_of(campaign: Campaign) -> Mapping[str, str]:
    """Return what limits each configuration. The keys are values of the column `config`.

    Raises DataError like `explain`.
    """
    return _limits(campaign)[0]


def _limits(results: Campaign | pd.DataFrame) -> tuple[Mapping[str, str], Mapping[Any, str]]:
    """Return two mappings: configuration -> limit, and row index -> limit. One of them is empty.

    The second mapping is only used for a frame without a column `config`.
    """
    frame, evidence = evidence_of(results)
    rows = {index: of_run(run) for index, run in evidence.items()}
    limits = [
        (part, standing(_judged(part, frame, rows, evidence))) for part in configurations(frame)
    ]
    if "config" not in frame.columns:
        return {}, {index: limit for part, limit in limits for index in part.index}
    return {config: limit for part, limit in limits for config in part["config"].unique()}, {}


def _judged(
    part: pd.DataFrame,
    frame: pd.DataFrame,
    rows: Mapping[Any, Verdict],
    evidence: Mapping[Any, RunFigures],
) -> dict[str, Any]:
    """Return a configuration's verdict, updated by its proofs, in the columns of `explain`."""
    bare = proof.bare(part)
    verdict = Verdict(UNDETERMINED, "No run without an intervention is ok.", {}, runs=0)
    if len(bare):
        verdict = of_configuration([rows[index] for index in bare.index])
    row = _row(verdict, tested=proof.tested(part))
    if verdict.of is not None:
        row["of_run"] = bare.index[verdict.of]
    if len(bare) < len(part):
        runs = [evidence[index] for index in bare.index]
        applicable = {limit.name for limit in CLASSES if any(map(limit.sign, runs))}
        proofs = proof.proofs(part, evidence, frames.blocks(frame))
        row |= proof.proved(verdict, proofs, applicable)
    return row


def _alike(bad: pd.DataFrame, ok: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of `bad` that have the same configuration as the runs `ok`."""
    if bad.empty:
        return bad
    key = _key(ok)
    mine = _texts(ok[key].iloc[0])
    return bad[[_agree(mine, _texts(row)) for row in bad[key].to_numpy()]]


def _failed(bad: pd.DataFrame, ok: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the runs of each configuration that has no ok run."""
    key = _key(ok)
    if bad.empty or not key:
        return []
    judged = {_texts(row) for row in ok[key].to_numpy()}
    parts = []
    for _, part in bad.groupby(key, sort=False, dropna=False):
        mine = _texts(part[key].iloc[0])
        if not any(_agree(other, mine) for other in judged):
            parts.append(part)
    return parts


def _agree(configuration: tuple[str, ...], run: tuple[str, ...]) -> bool:
    """Return True if a run's values equal the configuration's values.

    An unknown value of the run is empty, and equal to any value.
    """
    return all(b in ("", a) for a, b in zip(configuration, run, strict=True))


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple("" if wording.is_missing(value) else wording.text(value) for value in values)


def configurations(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the runs of each configuration.

    Raises DataError if no column distinguishes the configurations.
    """
    key = _key(frame)
    if not key and not proof.tested(frame):
        raise DataError(
            "configurations cannot be told apart: the runs have no factor and no `config`"
        )
    if not key:
        return [frame]
    names = proof.factors(frame)
    parts = [part for _, part in frame.groupby(key, sort=False, dropna=False)]
    return sorted(parts, key=lambda part: [wording.rank(part[name].iloc[0]) for name in names])


def _key(frame: pd.DataFrame) -> list[str]:
    own = "config" in frame.columns and not proof.tested(frame)
    return ["config"] if own else proof.factors(frame)


def runs(results: Campaign | pd.DataFrame, run: int | None = None) -> pd.DataFrame:
    """Return the verdict on each ok run, or only on run number `run`, as `explain` does."""
    import pandas as pd

    frame, evidence = evidence_of(results, run, sampled=run is not None)
    judged = frame.index if run is None else frame.index[frame["run"] == run]
    rows = {index: of_run(evidence[index]) for index in judged}
    names = [*(["run"] if "run" in frame.columns else []), *frames.varied(frame)]
    records = [
        {
            **{heading(name): frame[name][index] for name in names},
            **_row(verdict, tested=False),
            **_known([evidence[index]], evidence[index]),
            "over_time": over_time.sentence(results, frame.loc[[index]], evidence, index),
        }
        for index, verdict in rows.items()
    ]
    return pd.DataFrame(records)


def heading(factor: str) -> str:
    """Return the column name of a factor: its name, plus `_` if a verdict has such a column."""
    return f"{factor}_" if factor in (*COLUMNS, "verdict") else factor


def standing(row: Mapping[str, Any] | pd.Series[Any]) -> str:
    """Return the class in a row of `explain`; UNDETERMINED if a proof refuted it."""
    return str(row["class"]) if row["state"] != REFUTED else UNDETERMINED


def _row(verdict: Verdict, *, tested: bool) -> dict[str, Any]:
    suggested = UNDETERMINED if verdict.limit == UNDETERMINED else "suggested"
    return {
        "class": verdict.limit,
        "state": OPEN if tested else suggested,
        "confidence": verdict.share,
        "evidence": verdict.sentence,
        "figures": dict(verdict.figures),
        "runner_up": verdict.runner_up,
        "why_not": verdict.why_not,
        "decide": verdict.decide,
        "runs": verdict.runs,
        "judged": verdict.runs,
        "not_ok": "",
        "proof": "",
        **dict.fromkeys(("ratio", "ratio_low", "ratio_high"), float("nan")),
        "points_to": verdict.points_to,
        "likely": [asdict(each) for each in calibration.likelihoods(verdict)],
        "of_run": None,
        "over_time": "",
        "known": "",
        "known_figures": {},
        "bounds": "",
        "bounds_mbps": {},
    }


COLUMNS = tuple(_row(Verdict(UNDETERMINED, "", {}), tested=False))
"""The columns of a verdict."""
