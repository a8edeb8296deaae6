"""Every error of a file is told at once, and nothing that only follows from another.

The errors of two mistakes are those of each by itself: tried for each pair of many mistakes, found
at different steps from the file's shape to the options of one configuration.
"""

from __future__ import annotations

import itertools

import pytest

from netlimits.errors import DocumentError
from netlimits.experiment import load
from netlimits.experiment.plan import Plan

RIGHT = """\
experiment: trial
roles: [sender, receiver]
factors:
  send_size: [64, 1024]
  tso: [on, off]
derive:
  half: send_size // 2
exclude:
  - send_size == 64 and tso == 'on'
include:
  - {send_size: 4096, tso: on}
settings:
  - roles: [sender, receiver]
    offload: {tso: "${tso}", gro: on}
  - roles: [sender]
    mtu: 1500
measure:
  netperf: {seconds: 1, send_size: "${half}", nodelay: true}
pace: {rate: 100, frame_rate: 1514}
repeat: {replicates: 2}
report:
  - {table: summary, of: throughput, rows: send_size, columns: tso}
"""

SHAPE = {
    "unknown section": ("trial\n", "trial\nqestion: why\n"),
    "roles": ("roles: [sender, receiver]\n    offload", "roles: 3\n    offload"),
    "unknown setting": ("    mtu: 1500", "    mtv: 1500"),
    "setting's option": ("gro: on", "gro: maybe"),
    "setting": ("mtu: 1500", "mtu: 12"),
    "tool's option": ("seconds: 1", "seconds: ten"),
    "pace": ("frame_rate: 1514", "frame_rat: 1514"),
    "replicates": ("replicates: 2", "replicates: 0"),
    "report's option": ("columns: tso", "colums: tso"),
}
NAMES = {
    "role": ("roles: [sender]", "roles: [sendr]"),
    "lookup": ('"${tso}"', '"${ts}"'),
    "metric": ("of: throughput", "of: throughputt"),
    "report's factor": ("rows: send_size", "rows: send_sise"),
    "no dummy": ("exclude:", "dummies: [half]\nexclude:"),
}
CONDITIONS = {
    "removes nothing": ("tso == 'on'\n", "tso == 'on'\n  - send_size == 7\n"),
    "removes what is gone": ("tso == 'on'\n", "tso == 'on'\n  - send_size < 70 and tso == 'on'\n"),
}
INCLUDED = {
    "there already": ("{send_size: 4096, tso: on}", "{send_size: 1024, tso: on}"),
    "included": ("{send_size: 4096,", "{sent: 4096,"),
}
OPTIONS = {
    "option of a configuration": ("nodelay: true", 'nodelay: "${half}"'),
    "setting of a configuration": ("mtu: 1500", 'mtu: "${half}"'),
}
FACTORS = {
    "unknown section of factors": ("factors:", "facters:"),
    "twice": ("[64, 1024]", "[64, 64]"),
    "no list": ("[64, 1024]", "64"),
    "derived": ("send_size // 2", "send_size // 0"),
    "unknown in derived": ("send_size // 2", "sent // 2"),
    "condition": ("send_size == 64 and", "send_size and"),
    "unknown in condition": ("send_size == 64 and", "sent == 64 and"),
    "tool": ("  netperf:", "  netprf:"),
}
"""What leaves nobody to know the configurations."""

EDITS = {**SHAPE, **NAMES, **CONDITIONS, **INCLUDED, **OPTIONS, **FACTORS}

HIDDEN = {
    ("tool's option", "tool"),  # what options an unknown tool has is unknown too
}


def errors(tmp_path, *names: str) -> set[str]:
    """The errors of the right file with these mistakes, without their places: lines move."""
    text = RIGHT
    for name in names:
        before, after = EDITS[name]
        assert before in text
        text = text.replace(before, after)
    file = tmp_path / "trial.yaml"
    file.write_text(text)
    try:
        Plan(load.load(file)).seconds()
    except DocumentError as raised:
        lines = [error.line or 0 for error in raised.errors]
        assert lines == sorted(lines)
        return {f"{error.key}: {error.problem}" for error in raised.errors}
    return set()


def test_without_a_mistake_there_is_no_error(tmp_path):
    assert not errors(tmp_path)


@pytest.mark.parametrize("name", EDITS)
def test_a_mistake_is_one_error(tmp_path, name):
    assert len(errors(tmp_path, name)) == 1 + (name in ("pace", "included"))


def test_two_mistakes_are_the_errors_of_each(tmp_path):
    alone = {name: errors(tmp_path, name) for name in EDITS}
    for pair in itertools.combinations(EDITS, 2):
        first, second = (EDITS[name][0] for name in pair)
        if first in second or second in first:
            continue  # they are in one place
        if pair in HIDDEN:
            continue
        told, both = errors(tmp_path, *pair), alone[pair[0]] | alone[pair[1]]
        shown_later = {*CONDITIONS, *INCLUDED, *OPTIONS, *FACTORS, "no dummy"} & {*pair}
        hidden = {*FACTORS} & {*pair} and len(shown_later) == 2
        assert told == both or (hidden and told < both), pair
