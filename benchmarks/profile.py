"""Profiles against the truth: changes that are known to move one category of CPU time.

    sudo .venv/bin/python benchmarks/profile.py RESULTS [--blocks 4] [--seconds 4]
        [--mtu 1500] [--change zerocopy …] [--duet]

Two of the lab's machines measure one TCP stream of iperf3, as they are and with one change at a
time, in the same blocks: sendfile in place of copying (`zerocopy`), GRO off at the receiver, TX
checksums off at the sender, 1,000 iptables rules at the receiver, WireGuard. The table has, for
each change, the category that it should move and at which end: its costs without and with the
change, and the difference with its interval; and how many of the other categories, of at least 1 %
at either, stay within theirs. The runs of each configuration are also compared with each other:
half of the blocks with the other half, in all ways to choose them. With `--duet` both sides of a
duet are the same, at several send sizes: all differences should be within their intervals. A
campaign in the folder RESULTS is not run again.

Exits with 1 where an interval holds 0, the difference has the wrong sign, more than 5 % of kernel
samples are in functions without a category, or less than 95 % of a duet's categories agree.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml

import netlimits as nl
from netlimits.analysis import profile
from netlimits.lab import labs

UNSORTED_PCT = 5.0
AGREE_PCT = 95.0
SHARE_PCT = 1.0
NONE = "none"
SIZES = (1024, 8192, 32768, 131072)


class Truth(NamedTuple):
    """What a change moves: a category at an end, up (1) or down (-1)."""

    category: str
    end: str
    sign: int


TRUTHS = {
    "zerocopy": Truth("copy", "local", -1),
    "gro-off": Truth("tcpip", "remote", 1),
    "checksum-off": Truth("checksum", "local", 1),
    "iptables": Truth("netfilter", "remote", 1),
    "wireguard": Truth("crypto", "remote", 1),
}
RULES = (
    "{ echo '*filter'; for n in $(seq 1000); do "
    'echo "-A INPUT -p tcp --dport $((20000 + n)) -j DROP"; '
    "done; echo COMMIT; } >/tmp/rules; "
    "exec -a iptables-legacy-restore iptables-legacy -n /tmp/rules"
)
COUNT = 'if [ "$(iptables-legacy -S INPUT | wc -l)" -gt 1000 ]; then echo many; else echo few; fi'
SWITCH = {
    "verify": ["bash", "-c", COUNT],
    "command": {"few": ["iptables-legacy", "-F", "INPUT"], "many": ["bash", "-c", RULES]},
    "to": "many",
}
BOTH = ["sender", "receiver"]
SETTINGS: dict[str, dict[str, Any]] = {
    "gro-off": {"roles": BOTH[1:], "offload": {"gro": "off", "rx-gro-hw": "off"}},
    "checksum-off": {"roles": BOTH[:1], "offload": {"tx": "off"}},
    "iptables": {"roles": BOTH[1:], "switch": SWITCH},
    "wireguard": {"roles": BOTH, "tunnel": {"kind": "wireguard"}},
}


def experiment(changes: list[str], seconds: int, blocks: int) -> dict[str, Any]:
    """Return the experiment of these changes, or of the duet if there are none."""
    common = {
        "profile": {"roles": BOTH, "runs": blocks},
        "repeat": {"replicates": blocks, "seed": 1},
    }
    if not changes:
        return {
            "experiment": "same",
            "factors": {"size": [*SIZES]},
            "measure": {"iperf3": {"seconds": seconds, "send_size": "${size}"}},
            **common,
        }
    return {
        "experiment": "profiles",
        "factors": {"change": [NONE, *changes]},
        "derive": {"zerocopy": 'change == "zerocopy"'},
        "settings": [
            {"when": f'change == "{change}"', **SETTINGS[change]}
            for change in changes
            if change in SETTINGS
        ],
        "measure": {"iperf3": {"seconds": seconds, "zerocopy": "${zerocopy}"}},
        **common,
    }


def within(changes: pd.DataFrame) -> tuple[int, int]:
    """Return how many of the differences have an interval with 0, and how many there are."""
    return int(((changes["low"] <= 0) & (changes["high"] >= 0)).sum()), len(changes)


def differences(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Return the differences of the categories that have a share at either side, by end."""
    changes = profile.differences(first, second).set_index(["end", "category"])
    shares = [part.set_index(["end", "category"])["share_pct"] for part in (first, second)]
    return changes[pd.concat(shares, axis=1).max(axis=1).reindex(changes.index) >= SHARE_PCT]


def halves(frame: pd.DataFrame) -> tuple[int, int]:
    """Return how many categories agree between halves of the same configuration's blocks."""
    agree = total = 0
    for _, runs in frame.groupby("change"):
        counts = runs[runs["status"] == "ok"].groupby("block").size()
        blocks = [*counts[counts == 2].index]
        for first in itertools.combinations(blocks, len(blocks) // 2):
            if len(first) < 2:
                continue
            parts = (runs[runs["block"].isin(half)] for half in (first, {*blocks} - {*first}))
            own, of = within(differences(*(profile.profile(part, by=[]) for part in parts)))
            agree, total = agree + own, total + of
    return agree, total


def of_duet(table: pd.DataFrame) -> tuple[int, int]:
    """Print how many categories of both sides agree at each size; return the sums."""
    agree = total = 0
    for size, part in table.groupby("size"):
        changes = differences(*(own for _, own in part.groupby("side")))
        own, of = within(changes)
        off = changes[(changes["low"] > 0) | (changes["high"] < 0)]
        named = "".join(
            f"; {end} {category} {row['change_us']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
            for (end, category), row in off.iterrows()
        )
        print(f"size {size}: {own} of {of} categories agree{named}")
        agree, total = agree + own, total + of
    print(f"duet of the same: {agree} of {total} categories agree, {100 * agree / total:.1f} %")
    return agree, total


def lines(table: pd.DataFrame) -> Iterator[tuple[str, bool]]:
    """Yield a line for each change, and whether it agrees with the truth."""
    bare = table[table["change"] == NONE]
    for change, truth in TRUTHS.items():
        own = table[table["change"] == change]
        if own.empty:
            continue
        changes = differences(bare, own)
        if (truth.end, truth.category) not in changes.index:
            yield f"{change:13} {truth.end:7} {truth.category:11} has no share of 1 %", False
            continue
        row = changes.loc[truth.end, truth.category]
        stay, others = within(changes.drop(index=[(truth.end, truth.category)]))
        before, after = (
            part[(part["end"] == truth.end) & (part["category"] == truth.category)].iloc[0]
            for part in (bare, own)
        )
        good = truth.sign * (row["low"] if truth.sign > 0 else row["high"]) > 0
        yield (
            f"{change:13} {truth.end:7} {truth.category:11} {before['cost_us']:7.3f} "
            f"{after['cost_us']:7.3f}  {row['change_us']:+.3f} "
            f"[{row['low']:+.3f}, {row['high']:+.3f}]  {before['share_pct']:5.1f} "
            f"{after['share_pct']:5.1f}  {stay} of {others}",
            bool(good),
        )


def main() -> None:
    """Run what is not there, print a line for each change, and say what is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--change", nargs="+", choices=TRUTHS, default=list(TRUTHS))
    parser.add_argument("--mtu", type=int, default=1500, help="of the data link")
    parser.add_argument("--duet", action="store_true", help="both sides the same, no changes")
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    folder = given.results / "profiles"
    if not folder.exists():
        lab = labs.up(f"p{os.getpid()}", guest=labs.Guest(), mtu=given.mtu)
        try:
            file = given.results / "profiles.yaml"
            asked = experiment([] if given.duet else given.change, given.seconds, given.blocks)
            file.write_text(yaml.safe_dump(asked, sort_keys=False))
            words = ["run", file, "--hosts", lab.hosts_file, "--out", folder, "--quiet"]
            if given.duet:
                words += ["--against", f"measure.iperf3.seconds={given.seconds}"]
            subprocess.run([sys.executable, "-m", "netlimits", *map(str, words)], check=False)
        finally:
            labs.down(lab.name)
    campaign = nl.open(folder)
    table = nl.profile(campaign)
    missed = []
    if "side" in table.attrs["factors"]:
        agree, total = of_duet(table)
        if 100 * agree < AGREE_PCT * total:
            missed.append(f"the duet's categories, bound {AGREE_PCT:g} %")
    else:
        print(
            f"{'change':13} {'end':7} {'category':11} {'without':>7} {'with':>7}  "
            f"{'difference, us/KiB':26} {'share %, both':>11}  others in place"
        )
        for line, good in lines(table):
            print(line)
            missed += [] if good else [line]
        agree, total = halves(campaign.frame())
        print(f"halves of the same: {agree} of {total} categories agree, "
              f"{100 * agree / max(1, total):.1f} %")  # fmt: skip
        if 100 * agree < AGREE_PCT * total:
            missed.append(f"halves of the same, bound {AGREE_PCT:g} %")
    runs = profile.profiled(campaign.frame())
    unsorted = float(runs.filter(like="unsorted_pct").max().max())
    print(f"unsorted: at most {unsorted:.1f} % of a run's kernel samples")
    print(*table.attrs["notes"], sep="\n")
    if unsorted > UNSORTED_PCT:
        missed.append(f"unsorted: {unsorted:.1f} %, bound {UNSORTED_PCT:g} %")
    if missed:
        sys.exit("\n".join(["missed:", *missed]))


if __name__ == "__main__":
    main()
