#!/usr/bin/env python3
"""Hold what the reports claim against the campaigns that experiments/gallery keeps.

    scripts/claims.py        check the table of experiments/README.md against them

It exits with 1 where a row of the table says what the data do not support, or a claim has no row.
`scripts/gallery.py --draw` writes the table. `netlimits.reproduce.claims` says how a claim is
judged; those of the Turin report ship with `netlimits published`.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

import netlimits as nl
from netlimits.analysis import aggregate, bursts, frames
from netlimits.archive.reader import Campaign
from netlimits.reproduce import turin_lab
from netlimits.reproduce.claims import (
    Assertion,
    Judgement,
    Measure,
    Verdict,
    between,
    full_link,
    gain,
    needs,
    ratio,
)

EXPERIMENTS = Path(__file__).resolve().parent.parent / "experiments"
KEPT, README = EXPERIMENTS / "gallery", EXPERIMENTS / "README.md"
MSS = 1460
"""Bytes that a segment carries at an MTU of 1500, without options."""
SIZES = ("tool", "send_size")
LARGER, SMALLER = f"send_size > {MSS}", f"send_size < {MSS}"


OFFLOADS = ("stateless-offloads", "stateless-offloads-gro-hw")
"""Campaigns of one question, on other days: their claims are judged by each."""


def offloads(of: str, size: int) -> Measure:
    """TCP with offloads over TCP without, at one size."""
    return ratio(of, "transport", "TCP on", "TCP off", f"send_size == {size}")


WAITS, ACKED = "GRO waits 32 frames", "quickack"


def acks(sending: str) -> Measure:
    """The sender's service demand with most ACKs over that with fewest."""
    where = f"sending == '{sending}' and receiver in ['{WAITS}', '{ACKED}']"
    cost = ratio("local_sd", "receiver", ACKED, WAITS, where, ("mss",))
    return needs(full_link(("config",), where), cost)


OURS = (
    *(
        Assertion(f"TCP with offloads on against off, {size} bytes: {words}",
              name, offloads(of, size), low, high)
        for name in OFFLOADS
        for size in (1024, 8192)
        for words, of, low, high in (
            ("greater throughput", "throughput", 1, np.inf),
            ("less send service demand", "local_sd", 0, 1),
            ("less receive service demand", "remote_sd", 0, 1),
        )
    ),
    *(
        Assertion(f"UDP: a KiB costs the {end} more in packets of 1024 than of 8192 bytes",
              name, ratio(of, "send_size", "1024", "8192", "protocol == 'udp'"), low=1)
        for name in OFFLOADS
        for end, of in (("sender", "local_sd"), ("receiver", "remote_sd"))
    ),
    *(
        Assertion("packets of 1024 bytes raise UDP's send service demand more than that of TCP "
                  "with offloads", name,
                  gain("local_sd", "send_size", "1024", "8192", (),
                       "transport == 'UDP'", "transport == 'TCP on'"), low=1)
        for name in OFFLOADS
    ),
    Assertion("UDP sends as many packets a second at 64 bytes as at 1 byte", "packets-per-second",
          ratio("local_send_calls", "send_size", "64", "1"), 0.9, 1 / 0.9),
    Assertion("at a constant bit rate a KiB costs the sender about 4 times as much at 1024 bytes",
          "constant-bitrate", ratio("local_sd", "send_size", "1024", "8192"), 3.2, 4.8),
    Assertion("at a constant bit rate a KiB costs the receiver 3 to 4 times as much at 1024 bytes",
          "constant-bitrate", ratio("remote_sd", "send_size", "1024", "8192"), 2.4, 4.8),
    *(
        Assertion(f"fewer ACKs cost the sender less, {sending}", "ack-overhead",
                  acks(sending), low=1)
        for sending in ("TSO off", "TSO on")
    ),
    Assertion("fewer ACKs save the sender more with TSO than without", "ack-overhead",
          needs(full_link(("config",), "sending in ['TSO on', 'TSO off'] and "
                          f"receiver in ['{WAITS}', '{ACKED}']"),
                gain("local_sd", "receiver", ACKED, WAITS, ("mss",),
                     "sending == 'TSO on'", "sending == 'TSO off'")), low=1),
    Assertion("the first burst of a response grows over a connection", "rr-bursts",
          between("burst", "place == 'late'", "place == 'first'", ("gro", "quickack")), low=1),
    Assertion("an egress cap stays where it is at the larger MTU", "mtu-aggregate-capped",
          ratio("highest_average", "mtu", "8896", "1500", "machine == 'n2-standard-32'",
                ("streams_per_sink",)), 0.98, 1.02),
    Assertion("a link's rate follows its bound, 1.051 times as much", "mtu-aggregate-capped",
          ratio("highest_average", "mtu", "8896", "1500", "machine == 'n2-standard-80'",
                ("streams_per_sink",)), 1.03, 1.07),
    Assertion("a link's rate follows its bound, 1.051 times as much, to two sinks",
          "mtu-aggregate",
          needs(full_link(("mtu", "streams_per_sink"), of="highest_average", share=0.93),
                ratio("highest_average", "mtu", "8896", "1500", "", ("streams_per_sink",))),
          1.03, 1.07),
    Assertion("TSO's gain is greater at larger sends", "tso",
          gain("throughput", "tso", "on", "off", SIZES, LARGER, SMALLER), low=1),
    Assertion("jumbo frames' gain is greater at larger sends", "jumbo",
          gain("throughput", "mtu", "9000", "1500", SIZES, LARGER, SMALLER), low=1),
    Assertion("stress takes more from small sends", "cpu-stress",
          gain("throughput", "workers_per_cpu", "0", "2", SIZES, SMALLER, LARGER), low=1),
)  # fmt: skip
"""Those of the reports but Turin's, and what this page says itself."""


def first_bursts(campaign: Campaign) -> pd.DataFrame:
    """The first burst of each run's first response, and the median of its last five."""
    runs = campaign.frame()
    blocks = runs.assign(block=frames.blocks(runs)).set_index("run")["block"]
    rows = []
    for (run, gro, quickack), packets in campaign.traces().groupby(["run", "gro", "quickack"]):
        table = bursts.over_transactions(packets)
        late = table["median"].tail(5).median()
        for place, burst in (("first", table["median"].iloc[0]), ("late", late)):
            rows.append((run, blocks.loc[run], gro, quickack, place, burst))
    return pd.DataFrame(rows, columns=["run", "block", "gro", "quickack", "place", "burst"])


def highest(campaign: Campaign) -> pd.DataFrame:
    """The highest average of each run, with its block."""
    entry = next(e for e in campaign.experiment.report if e.get("chart") == "highest_average")
    frame = campaign.frame()
    blocks = frame.assign(block=frames.blocks(frame))[["run", "block"]]
    return aggregate.highest_averages(campaign.intervals(), entry["window_s"]).merge(blocks)


RUNS: Mapping[str, Callable[[Campaign], pd.DataFrame]] = {
    "rr-bursts": first_bursts,
    "mtu-aggregate": highest,
    "mtu-aggregate-capped": highest,
}
"""What an experiment's claims are judged by, where it is not its runs as they are."""


def judgements(kept: Path) -> Iterator[Judgement]:
    """Every claim whose campaign is kept."""
    runs: dict[str, pd.DataFrame] = {}
    for claim in (*OURS, *turin_lab.claims()):
        name = claim.experiment
        if not (kept / name).is_dir():
            continue
        if name not in runs:
            runs[name] = RUNS.get(name, Campaign.frame)(nl.open(kept / name))
        yield claim.judge(runs[name])


HEAD = (
    "| the reports say | measured by | runs and blocks | ratio, 95 % interval | in the lab |",
    "|---|---|---|---|---|",
)


@cache
def table(kept: Path) -> str:
    """The claims as a table of Markdown, and below it those that the campaigns cannot show."""
    rows, gaps = [], []
    for judgement in judgements(kept):
        claim = judgement.claim
        if judgement.unfit:
            gaps.append(f"- {claim.words} ({claim.experiment}): {judgement.unfit}")
            continue
        cells = (
            claim.words,
            claim.experiment,
            judgement.basis,
            judgement.figures,
            judgement.verdict,
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([*HEAD, *rows, "", GAPS, *gaps])


GAPS = "The campaigns cannot show, each for its reason:"


VERDICTS = tuple(f"| {verdict} |" for verdict in get_args(Verdict))
"""How a row ends that judges a claim."""
ITEMS = ("|", "- ")


def unsupported(text: str, kept: Path) -> list[str]:
    """The lines of a page that the data do not support, and those that it lacks.

    They are the rows and items of the table's section, and rows elsewhere that end in a verdict.
    """
    supported = [line for line in table(kept).splitlines() if line.startswith(ITEMS)]
    lines = text.splitlines()
    start = lines.index(HEAD[0]) if HEAD[0] in lines else len(lines)
    section = list(itertools.takewhile(lambda line: not line.startswith("## "), lines[start:]))
    told = [line for line in section if line.startswith(ITEMS)]
    elsewhere = [*lines[:start], *lines[start + len(section) :]]
    told += [line for line in elsewhere if line.endswith(VERDICTS)]
    wrong = [f"the data do not support: {line}" for line in told if line not in supported]
    return wrong + [f"is missing: {line}" for line in supported if line not in told]


def main() -> None:
    """Print what is wrong; the exit status says whether anything is."""
    wrong = unsupported(README.read_text("utf-8"), KEPT)
    print("\n".join(wrong) or "every claim is as the data have it")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
