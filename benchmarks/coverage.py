"""How often the intervals that tables and charts show hold the truth, on data of known truth.

    python benchmarks/coverage.py             # 4,000 campaigns a row
    python benchmarks/coverage.py 400

Each row simulates campaigns of one kind and counts how many of their nominal 95 % intervals hold
the true value: levels (mean, median), ratios of two configurations (within blocks, and without
blocks, and of several sessions), the knee of packet rate and bytes, the costs of a packet and a
byte, what ACKs change, a pace, a spread. So does a test that takes a straight line for one, in so
many campaigns of a hundred. A row is to lie between 93 and 97 %, give or take three standard errors
of the simulation; where it cannot, it says why, and that the table says so too. Where a note
depends on the runs, "noted" says in how many campaigns it stands. Exit status 1 for a row outside
without a reason.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlimits.analysis.acks import acks
from netlimits.analysis.comparisons import sessions
from netlimits.analysis.cost import UNFIT, cost, lack_of_fit
from netlimits.analysis.pacing import pacing
from netlimits.analysis.packet_rate import regimes
from netlimits.analysis.spread import repeatability, spread
from netlimits.analysis.statistics import contrasts, dependence, intervals

LOW, HIGH = 93.0, 97.0
CAMPAIGNS = 4000
SLOW = 8
"""A campaign that is made as a frame and analysed as one takes so many times as long."""

SIZES = np.array([64, 256, 1024, 2048, 4096, 8192])
PACKET_NS, BYTE_NS = 1200.0, 0.35

FEW = (
    "fewer than six runs: none of them can show that runs are of two kinds (the table says that "
    "fewer than six take them to be of one kind)"
)
RARE = (
    "a mean of runs of two kinds: most samples hold none or too many of the second (where some "
    "stand apart the table says so, and the median stands beside the mean; of fewer than sixty "
    "runs it says that what befalls one in twenty may be in none of them)"
)
STEPS = (
    "the tool prints two digits: so few runs often read all alike (the table says that it cannot "
    "tell how such runs spread)"
)
TWO = (
    "two runs on one side hardly tell how they spread (the table says that fewer than six take "
    "them to be of one kind)"
)
UNFIT_LINE = (
    "no straight line: a cost of a packet and one of a byte is not all that there is (the test for "
    "lack of fit says so, and the table with it)"
)
ALIKE = (
    "runs, or blocks, that follow one another are alike (the table says so where it shows, and of "
    "fewer than sixty runs that it need not show)"
)
FAILING = (
    "slow runs fail, so that those that are left are too fast (the table says how many failed, and "
    "where those beside failed ones are slower that means are too good)"
)
DRIFT = (
    "a drift is no chance: the interval of a mean is too wide (the table says that runs that "
    "follow one another are alike)"
)
REASONS = (FEW, RARE, STEPS, TWO, UNFIT_LINE, ALIKE, FAILING, DRIFT)

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True, slots=True)
class Row:
    """One case: how many of the intervals held the truth, and why it cannot be 95 %."""

    interval: str
    data: str
    runs: str
    held: int
    of: int
    reason: str = ""
    noted: int | None = None

    @property
    def percent(self) -> float:
        """The coverage."""
        return 100 * self.held / self.of

    @property
    def slack(self) -> float:
        """Three standard errors of a simulation of so many campaigns, in percent."""
        return 300 * (0.95 * 0.05 / self.of) ** 0.5

    @property
    def good(self) -> bool:
        """Whether it lies where it is to."""
        return LOW - self.slack <= self.percent <= HIGH + self.slack

    def __str__(self) -> str:
        reason = f"  ({REASONS.index(self.reason) + 1})" if self.reason else "  OUTSIDE"
        why = "" if self.good else reason
        if self.noted is not None:
            why += f"  noted in {100 * self.noted / self.of:.0f} %"
        return f"{self.interval:<30}{self.data:<48}{self.runs:>14}{self.percent:7.1f} %{why}"


def normal(cv: float) -> Draw:
    """Runs of one kind, normal."""
    return lambda draw, n: np.abs(1 + cv * draw.standard_normal(n))


def log_normal(cv: float) -> Draw:
    """Runs of one kind, log-normal with a median of 1."""
    return lambda draw, n: np.exp(cv * draw.standard_normal(n))


def two_kinds(share: float, factor: float, cv: float = 0.03) -> Draw:
    """A share of the runs is slower by a factor."""
    return lambda draw, n: (
        np.where(draw.random(n) < share, factor, 1.0) * np.exp(cv * draw.standard_normal(n))
    )


def printed(cv: float) -> Draw:
    """A figure of 0.12 that is printed with two digits."""
    return lambda draw, n: np.round(0.12 * (1 + cv * draw.standard_normal(n)), 2)


KINDS: tuple[tuple[str, Draw], ...] = (
    ("normal, CV 5 %", normal(0.05)),
    ("normal, CV 20 %", normal(0.2)),
    ("log-normal, CV 20 %", log_normal(0.2)),
    ("a fifth of the runs 30 % slower", two_kinds(0.2, 0.7)),
    ("5 % of the runs halve", two_kinds(0.05, 0.5)),
)


def levels(draw: np.random.Generator, count: int) -> Iterator[Row]:
    """Means and medians of one configuration."""
    for name, kind in (*KINDS, ("0.12 printed with two digits, CV 3 %", printed(0.03))):
        everything = kind(draw, 1_000_000)
        truths = float(everything.mean()), float(np.median(everything))
        if "printed" in name:
            truths = 0.12, 0.12
        for n in (3, 5, 6, 10, 20):
            samples = [kind(draw, n) for _ in range(count)]
            _told_apart(name, samples)
            held = sum(_holds(intervals.mean(sample), truths[0]) for sample in samples)
            mixed = "slower" in name or "halve" in name
            reason = (
                STEPS if "printed" in name else FEW if mixed and n < 6 else RARE if mixed else ""
            )
            yield Row("mean, Student's t", name, str(n), held, count, reason)
            if n >= intervals.ENOUGH and "printed" not in name:
                held = sum(_holds(intervals.median(sample), truths[1]) for sample in samples)
                yield Row("median, order statistics", name, str(n), held, count)


def _told_apart(name: str, samples: Sequence[np.ndarray]) -> None:
    """Raise AssertionError where runs of one kind are often told to be of several, or the reverse.

    A fifth that is slower is told in two of three campaigns of six runs, in nine of ten of ten.
    """
    count, n = len(samples), len(samples[0])
    told = sum(intervals.of_several_kinds(sample) for sample in samples) / count
    slack = 3 * (0.25 / count) ** 0.5
    least = {6: 0.66, 10: 0.88, 20: 0.98}.get(n, 0.0)
    if "slower" in name and told < least - slack:
        raise AssertionError(f"{name}, {n} runs: told in {100 * told:.0f} % only")
    if "slower" not in name and "halve" not in name and told > 0.06 + slack:
        raise AssertionError(f"{name}, {n} runs: told to be of several kinds in {100 * told:.0f} %")


def ratios(draw: np.random.Generator, count: int) -> Iterator[Row]:
    """Two configurations, the second 1.5 times the first, with and without blocks."""
    drifts = (("", lambda n: np.ones(n)), (", then 50 % faster", _last_quarter))
    for name, kind in KINDS:
        for about, drift in drifts:
            for n in (3, 5, 6, 10, 20):
                held = sum(
                    _holds(_ratio(kind(draw, n), kind(draw, n), drift(n)), 1.5)
                    for _ in range(count)
                )
                way = "ratio within blocks, " + ("Wilcoxon" if n >= 6 else "two-way")
                mixed = "slower" in name or "halve" in name
                reason = FEW if mixed and n < 6 else ""
                yield Row(way, name + about, str(n), held, count, reason)
    quiet, noisy = log_normal(0.01), log_normal(0.2)
    for n in (3, 5, 10):
        held = sum(
            _holds(_ratio(quiet(draw, n), noisy(draw, n), np.ones(n)), 1.5) for _ in range(count)
        )
        way = "ratio within blocks, " + ("Wilcoxon" if n >= 6 else "two-way")
        yield Row(way, "log-normal, CV 1 % and 20 %", str(n), held, count)
    for name, kind in KINDS:
        for n, m in ((3, 3), (5, 5), (10, 10), (20, 20), (2, 20)):
            held = sum(
                _holds(contrasts.ratio(1.5 * kind(draw, n), kind(draw, m)), 1.5)
                for _ in range(count)
            )
            mixed = "slower" in name or "halve" in name
            why = FEW if min(n, m) < 6 else RARE
            reason = TWO if n == 2 else why if mixed else ""
            yield Row("ratio without blocks, Welch", name, f"{n}, {m}", held, count, reason)


def _ratio(top: np.ndarray, bottom: np.ndarray, drift: np.ndarray) -> contrasts.Contrast:
    blocks = np.arange(len(top))
    return contrasts.ratio(1.5 * drift * top, drift * bottom, (blocks, blocks))


def _last_quarter(n: int) -> np.ndarray:
    """The speed of a machine that is 50 % faster for its last quarter of a campaign."""
    return np.where(np.arange(n) >= n - max(1, n // 4), 1.5, 1.0)


def knees(draw: np.random.Generator, count: int) -> Iterator[Row]:
    """Where bytes cost as much as packets, by the jackknife over ten blocks."""
    spreads = {
        "all sizes CV 5 %": np.full(len(SIZES), 0.05),
        "CV grows with size, 1 to 10 %": np.linspace(0.01, 0.1, len(SIZES)),
        "one size CV 20 %, others 2 %": np.where(SIZES == 2048, 0.2, 0.02),
    }
    for name, cvs in spreads.items():
        held = 0
        for _ in range(count):
            fit = regimes(_packets(draw, 10, cvs), share=0.05)
            low, high = fit.bytes_from_interval
            held += low <= PACKET_NS / BYTE_NS <= high
        yield Row("knee, delete-a-block", name, "10 blocks", held, count)


def following(draw: np.random.Generator, shape: tuple[int, ...], correlation: float) -> np.ndarray:
    """Return normal values of which each is so much like the one before, along the first axis."""
    values = draw.standard_normal(shape)
    for place in range(1, shape[0]):
        values[place] *= (1 - correlation**2) ** 0.5
        values[place] += correlation * values[place - 1]
    return values


def dependent(draw: np.random.Generator, count: int) -> Iterator[Row]:
    """Means of runs that depend on one another, and ratios within their blocks, of 1."""
    configurations = 4
    for n in (10, 20, 40):
        for name, correlation, drift, own, reason in (
            ("AR(1) 0.6, one configuration", 0.6, 0.0, 0.0, ALIKE),
            ("AR(1) 0.6 of blocks, CV 5 %, runs 2 %", 0.6, 0.0, 0.02, ALIKE),
            ("blocks CV 5 %, runs 2 %", 0.0, 0.0, 0.02, ""),
            ("drift of 40 %, runs 2 %", 0.0, 0.4, 0.02, DRIFT),
        ):
            size = (count, n, configurations if own else 1)
            speed = 0.05 * following(draw, (n, count), correlation).T
            if drift:
                speed = np.broadcast_to(np.log1p(-drift * np.arange(n) / n), (count, n))
            logs = speed[:, :, None] + own * draw.standard_t(5, size)
            truth = float(logs.mean()) if drift else 0.0
            held = noted = within = 0
            for runs in logs:
                held += _holds(intervals.mean(runs[:, 0]), truth)
                noted += _noted(runs, np.zeros(runs.shape, bool))[0]
                if own:
                    within += _holds(contrasts.paired(runs[:, 0] - runs[:, 1])[0], 0.0)
            yield Row("mean, Student's t", name, str(n), held, count, reason, noted)
            if own:
                yield Row("ratio within blocks, dependent", name, str(n), within, count)
    for n in (10, 20, 40):
        yield from _failing(draw, count, n, configurations)


def _failing(draw: np.random.Generator, count: int, n: int, several: int) -> Iterator[Row]:
    """Three blocks of ten are 30 % slower, and in these half of the runs fail."""
    truth = 0.3 * 0.7 + 0.7
    held = noted = within = tried = compared = 0
    for _ in range(count):
        slow = draw.random(n) < 0.3
        runs = np.where(slow, 0.7, 1.0)[:, None] + 0.03 * draw.laplace(size=(n, several))
        failed = slow[:, None] & (draw.random(runs.shape) < 0.5)
        alone = runs[~failed[:, 0], 0]
        if len(alone) < 2:
            continue
        tried += 1
        held += _holds(intervals.mean(alone), truth)
        noted += _noted(runs, failed)[1]
        both = ~failed[:, 0] & ~failed[:, 1]
        if both.sum() >= intervals.ENOUGH:
            compared += 1
            logs = np.log(runs[both])
            within += _holds(contrasts.paired(logs[:, 0] - logs[:, 1])[0], 0.0)
    name = "half of the runs in slow blocks fail"
    yield Row("mean, Student's t", name, str(n), held, tried, FAILING, noted)
    yield Row("ratio within blocks, dependent", name, str(n), within, compared)


def _noted(runs: np.ndarray, failed: np.ndarray) -> tuple[bool, bool]:
    """Return whether a table says that runs are alike, and that slow ones fail."""
    n, several = runs.shape
    order = dependence.RunOrder(np.arange(n), n, several == 1, failed.sum(axis=1).astype(float))
    cells = ((np.flatnonzero(~bad), of[~bad]) for of, bad in zip(runs.T, failed.T, strict=True))
    blocks = dependence.by_block(order, cells)
    level = dependence.LEVEL
    alike = dependence.autocorrelation(blocks)[1] <= level
    return alike, dependence.slow_failures(blocks, "higher") <= level


def of_sessions(draw: np.random.Generator, count: int) -> Iterator[Row]:
    """Ratios of several sessions, that differ by 3 % beyond their runs' CV of 2 %."""
    for before, after in ((3, 1), (5, 1), (3, 3), (5, 2)):
        held = 0
        for _ in range(count):
            sides, names = [], []
            for sessions_of in (after, before):
                speed = np.repeat(0.03 * draw.standard_normal(sessions_of), 8)
                sides.append(np.exp(speed + 0.02 * draw.standard_t(6, len(speed))))
                names.append(np.repeat(np.arange(sessions_of), 8))
            contrast = sessions.ratio(sides[0], sides[1], (names[0], names[1]), 0.95)
            held += _holds(contrast, 1.0)
        runs = f"{before}, {after}"
        yield Row("ratio of several sessions", "sessions differ by 3 %", runs, held, count)


def costs(draw: np.random.Generator, count: int) -> Iterator[Row]:
    """What a packet and what a KiB costs; and a line that is none."""
    alike, grows = np.full(len(SIZES), 0.05), np.linspace(0.01, 0.1, len(SIZES))
    quiet = np.full(len(SIZES), 0.01)
    for name, cvs, shared, lost, blocks, reason in (
        ("all sizes CV 5 %", alike, 0.0, 0.0, 10, ""),
        ("CV grows with size, 1 to 10 %", grows, 0.0, 0.0, 10, ""),
        ("blocks CV 5 %, runs 1 %", quiet, 0.05, 0.0, 3, ""),
        ("blocks CV 5 %, runs 1 %", quiet, 0.05, 0.0, 10, ""),
        ("blocks CV 5 %, a fifth of the runs lost", quiet, 0.05, 0.2, 6, ""),
        ("blocks CV 5 %, a fifth of the runs lost", quiet, 0.05, 0.2, 20, ""),
        ("AR(1) 0.6 of blocks, CV 5 %", quiet, 0.05, 0.0, 20, ALIKE),
    ):
        held, noted = [0, 0], 0
        for _ in range(count):
            speed = following(draw, (blocks,), 0.6 if reason else 0.0)
            frame = _packets(draw, blocks, cvs, speed=shared * speed)
            frame = frame[draw.random(len(frame)) >= lost]
            table = cost(frame, "time_per_send")
            row = table.iloc[0]
            held[0] += row["packet_ns_low"] <= PACKET_NS <= row["packet_ns_high"]
            held[1] += row["kib_ns_low"] <= 1024 * BYTE_NS <= row["kib_ns_high"]
            noted += any("consecutive blocks are alike" in note for note in table.attrs["notes"])
        for what, many in zip(("packet", "KiB"), held, strict=True):
            yield Row(
                f"cost of a {what}, jackknife", name, f"{blocks} blocks", many, count, reason,
                noted if reason else None,
            )  # fmt: skip
    for name, cvs, step in (("300 ns more above 4 KiB, CV 3 %", np.full(len(SIZES), 0.03), 300.0),):
        held = [0, 0]
        told = 0
        for _ in range(count):
            frame = _packets(draw, 10, cvs, step)
            row = cost(frame, "time_per_send").iloc[0]
            held[0] += row["packet_ns_low"] <= PACKET_NS <= row["packet_ns_high"]
            held[1] += row["kib_ns_low"] <= 1024 * BYTE_NS <= row["kib_ns_high"]
            told += row["lack_of_fit_p"] < UNFIT
        if step and told < (0.95 - 3 * (0.95 * 0.05 / count) ** 0.5) * count:
            raise AssertionError(f"lack of fit was told in {told} of {count} campaigns only")
        reason = UNFIT_LINE
        for what, many in zip(("packet", "KiB"), held, strict=True):
            label = f"cost of a {what}, jackknife"
            yield Row(label, name, "10 blocks", many, count, reason if step else "")


def lines(draw: np.random.Generator, count: int) -> Iterator[Row]:
    """How often the test for lack of fit believes a straight line that is one: false alarms."""
    spreads = {
        "all sizes CV 5 %": np.full(len(SIZES), 0.05),
        "CV grows with size, 1 to 10 %": np.linspace(0.01, 0.1, len(SIZES)),
        "one size CV 20 %, others 2 %": np.where(SIZES == 2048, 0.2, 0.02),
    }
    times = PACKET_NS + BYTE_NS * SIZES
    for name, cvs in spreads.items():
        for n in (3, 5, 10, 20):
            for blocked in (True, False):
                drift = _last_quarter(n) if blocked else np.ones(n)
                believed = 0
                for _ in range(count):
                    believed += _believed(draw, times / drift[:, None], cvs, blocked, 0.0)
                about = f"{name}, then 50 % faster" if blocked else name
                runs = f"{n} blocks" if blocked else str(n)
                yield Row("straight line, Johansen", about, runs, believed, count)
        for n in (5, 10, 20):
            believed = 0
            for _ in range(count):
                speed = np.exp(0.05 * draw.standard_normal((n, 1)))
                believed += _believed(draw, times * speed, cvs, True, 0.2)
            about = f"{name}, blocks lack a fifth"
            yield Row("straight line, Johansen", about, f"{n} blocks", believed, count)


def _believed(
    draw: np.random.Generator, times: np.ndarray, cvs: np.ndarray, blocked: bool, lost: float
) -> bool:
    """Return whether the test believes a campaign's line; it has no say where too few runs are."""
    noisy = times * (1 + cvs * draw.standard_normal(times.shape))
    blocks = np.repeat(np.arange(len(times)), len(SIZES))
    kept = draw.random(noisy.size) >= lost
    kib = np.tile(SIZES / 1024, len(times))
    p = lack_of_fit(kib[kept], noisy.ravel()[kept], blocks[kept] if blocked else None)
    return not p < UNFIT


def _packets(
    draw: np.random.Generator,
    blocks: int,
    cvs: np.ndarray,
    step: float = 0.0,
    speed: np.ndarray | float = 0.0,
) -> pd.DataFrame:
    """A campaign of send sizes: times per send with a spread of each size's own."""
    times = PACKET_NS + BYTE_NS * SIZES + np.where(SIZES > 4096, step, 0.0)
    noisy = times * (1 + cvs * draw.standard_normal((blocks, len(SIZES))))
    noisy = noisy * (1 + np.broadcast_to(speed, blocks))[:, None]
    return pd.DataFrame(
        {
            "block": np.repeat(np.arange(blocks), len(SIZES)),
            "send_size": np.tile(SIZES, blocks),
            "local_send_throughput_mbps": (8e3 * SIZES / noisy).ravel(),
        }
    )


def others(draw: np.random.Generator, count: int) -> Iterator[Row]:
    """What ACKs change, a pace, and how far runs spread."""
    held = {"acks": 0, "pacing": 0, "spread": 0, "pooled": 0}
    for _ in range(count):
        held["acks"] += _acks_hold(draw)
        held["pacing"] += _pace_holds(draw)
        mean, pooled = _spread_holds(draw)
        held["spread"] += mean
        held["pooled"] += pooled
    yield Row("change by ACKs, Wilcoxon", "log-normal, CV 10 %", "8 blocks", held["acks"], count)
    yield Row("achieved pace, Student's t", "normal, CV 0.3 %", "5", held["pacing"], count)
    yield Row("mean of a point, Student's t", "normal, CV 5 %", "10", held["spread"], count)
    points = "20 points of 10"
    yield Row("pooled deviation, jackknife", "normal, CV 5 %", points, held["pooled"], count)


def _acks_hold(draw: np.random.Generator) -> bool:
    blocks = np.arange(8)
    frame = pd.DataFrame(
        {
            "config": np.repeat(["a", "b"], 8),
            "block": np.tile(blocks, 2),
            "segments_per_ack": np.concatenate(
                [2 + 0.01 * draw.random(8), 8 + 0.01 * draw.random(8)]
            ),
            "throughput_mbps": 900.0,
            "local_sd_us_per_kib": np.concatenate(
                [log_normal(0.1)(draw, 8), 0.7 * log_normal(0.1)(draw, 8)]
            ),
        }
    )
    row = acks(frame).iloc[-1]
    return bool(row["change_low_pct"] <= -30 <= row["change_high_pct"])


def _pace_holds(draw: np.random.Generator) -> bool:
    rates = 1000 * (0.999 + 0.003 * draw.standard_normal(5))
    row = pacing(pd.DataFrame({"send_size": 1024, "local_send_throughput_mbps": rates})).iloc[0]
    return bool(row["achieved_low"] <= 0.999 <= row["achieved_high"])


def _spread_holds(draw: np.random.Generator) -> tuple[bool, bool]:
    sizes = np.repeat(2 ** np.arange(20), 10)
    rates = 100 * (1 + 0.05 * draw.standard_normal(200))
    points = spread(pd.DataFrame({"send_size": sizes, "throughput_mbps": rates}))
    row = repeatability(points).iloc[0]
    pooled = row["pooled_sd_low"] <= 5 <= row["pooled_sd_high"]
    return bool(points["low"].iloc[0] <= 100 <= points["high"].iloc[0]), bool(pooled)


def _holds(interval: intervals.Interval | contrasts.Contrast, truth: float) -> bool:
    return bool(interval.low - 1e-12 <= truth <= interval.high + 1e-12)


def rows(count: int, seed: int = 2021) -> Iterator[Row]:
    """Every row, of `count` simulated campaigns each; those made as frames of fewer."""
    draw = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield from levels(draw, count)
        yield from ratios(draw, count)
        fewer = max(50, count // SLOW)
        for part in (knees, costs, lines, others, dependent, of_sessions):
            yield from part(draw, fewer)


def main() -> int:
    """Print the table, and say whether a row lies outside without a reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "count", nargs="?", type=int, default=CAMPAIGNS, help="Campaigns of each case."
    )
    count = parser.parse_args().count
    print(f"{'interval':<30}{'data':<48}{'runs':>14}  covers")
    outside = 0
    within: list[float] = []
    for row in rows(count):
        print(row, flush=True)
        outside += not row.good and not row.reason
        if row.interval == "ratio within blocks, Wilcoxon":
            within.append(row.percent)
    for number, reason in enumerate(REASONS, 1):
        print(f"({number}) {reason}")
    print(f"ratios within blocks, Wilcoxon: {min(within):.1f} to {max(within):.1f} %")
    print(f"nominal 95 %; {LOW:g} to {HIGH:g} % asked for; {outside} outside without a reason")
    return int(outside > 0)


if __name__ == "__main__":
    sys.exit(main())
