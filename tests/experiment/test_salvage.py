"""Every error of a file is told at once, and nothing that only follows from another.

The errors of two mistakes are those of each by itself: tried for each pair of many mistakes, found
at different steps from the file's shape to the options of one configuration.
"""

from __future__ import annotations

import itertools
import re

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
    "key again": ("{replicates: 2}", "{replicates: 2, replicates: 3}"),
    "section again": ("derive:\n", "roles: [sender, receiver]\nderive:\n"),
    "order": ("{replicates: 2}", "{replicates: 2, order: blockd}"),
    "improvement": ("columns: tso}", "columns: tso, improvement: 8192 over}"),
    "chart": ("columns: tso}\n", "columns: tso}\n  - {chart: pie, of: local_sd}\n"),
    "streams": ("pace:", "streams: 0\npace:"),
    "trace": ("pace:", "trace: {roles: [sendr]}\npace:"),
}
NAMES = {
    "role": ("roles: [sender]", "roles: [sendr]"),
    "lookup": ('"${tso}"', '"${ts}"'),
    "metric": ("of: throughput", "of: throughputt"),
    "report's factor": ("rows: send_size", "rows: send_sise"),
    "no dummy": ("exclude:", "dummies: [half]\nexclude:"),
    "lookup of a pace": ("{rate: 100", '{rate: "${rat}"'),
    "lookup of replicates": ("replicates: 2", 'replicates: "${reps}"'),
    "role again": ("  - roles: [sender]\n", "  - roles: [sender, sender]\n"),
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
VALUES = {
    "value for a setting": ("[on, off]", "[on, offf]"),
    "value for an option": ("[64, 1024]", "[64, -1024]"),
    "included value": ("- {send_size: 4096, tso: on}", "- {send_size: 4096, tso: onn}"),
    "unused": ("  tso: [on, off]\n", "  tso: [on, off]\n  dull: [1, 2]\n"),
}
FACTORS = {
    "unknown section of factors": ("factors:", "facters:"),
    "twice": ("[64, 1024]", "[64, 64]"),
    "no list": ("[64, 1024]", "64"),
    "derived": ("send_size // 2", "send_size // 0"),
    "unknown in derived": ("send_size // 2", "sent // 2"),
    "condition": ("send_size == 64 and", "send_size and"),
    "unknown in condition": ("send_size == 64 and", "sent == 64 and"),
    "no expression": ("send_size // 2", "send_size //"),
    "no condition": ("send_size == 64 and", "send_size = 64 and"),
    "defined again": ("  half: send_size // 2", "  half: send_size // 2\n  tso: 3"),
    "tool": ("  netperf:", "  netprf:"),
}
"""What leaves something of the configurations unknown."""

EDITS = {**SHAPE, **NAMES, **CONDITIONS, **INCLUDED, **OPTIONS, **VALUES, **FACTORS}

HIDDEN = {
    "twice": {*CONDITIONS, "there already"},  # another value may be meant
    "no list": {*CONDITIONS, "there already"},  # there may be more values
    **{  # nobody knows the value
        name: {*OPTIONS, "value for an option"}
        for name in ("derived", "unknown in derived", "no expression")
    },
    **{  # it may remove just that configuration
        name: {"removes what is gone", "there already"}
        for name in ("condition", "unknown in condition", "no condition")
    },
    "value for an option": {"removes what is gone", "there already"},  # of the other value
    "lookup": {"value for a setting", "included value"},  # another factor's values may be meant
    "unused": {"there already", "included value"},  # a row that lacks a value is not looked at
    "defined again": {"there already", "included value"},  # nobody knows what the row may hold
}
"""The mistakes that may be none once another is mended: it is not told beside that."""
MEANT = {"lookup of a pace", "lookup of replicates", "unknown in derived", "unknown in condition"}
MEANT |= {"no expression", "no condition"}
MEANT |= {"unknown section", "unknown section of factors", "unknown setting", "pace", "tool"}
"""Beside these that a factor is unused is not told: it may be what they mean."""


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
        return {re.sub(r"line \d+|; known: .*", "", f"{e.key}: {e.problem}") for e in raised.errors}
    return set()


def test_without_a_mistake_there_is_no_error(tmp_path):
    assert not errors(tmp_path)


@pytest.mark.parametrize("name", EDITS)
def test_a_mistake_is_one_error(tmp_path, name):
    two = ("included", "trace", "unused", "defined again")
    assert len(errors(tmp_path, name)) == 1 + (name in two)


@pytest.mark.long
def test_two_mistakes_are_the_errors_of_each(tmp_path):
    alone = {name: errors(tmp_path, name) for name in EDITS}
    for pair in itertools.combinations(EDITS, 2):
        first, second = (EDITS[name][0] for name in pair)
        if first in second or second in first or {*pair} == {"included", "unused"}:
            continue  # they are in one place
        hidden = {other for name in pair for other in HIDDEN.get(name, ()) if other in pair}
        shown = [alone[name] for name in pair if name not in hidden]
        expected = set().union(*shown)
        if "unused" in pair and {*pair} & MEANT:
            expected = {error for error in expected if "nothing uses it" not in error}
        assert errors(tmp_path, *pair) == expected, pair


SWEEP = """\
experiment: trial
factors:
  send_size: [1024, 4096, 8192]
  protocol: [tcp, udp]
  mtu: [1500, 9000]
zip: {label: [small, large], seconds: [1, 2]}
exclude:
  - protocol == "udp" and send_size == 8192
settings:
  - {roles: [sender, receiver], mtu: "${mtu}"}
measure:
  netperf: {seconds: "${seconds}", send_size: "${send_size}", protocol: "${protocol}"}
report:
  - {table: summary, of: throughput, rows: send_size, columns: label}
"""


def told(tmp_path, *edits: tuple[str, str]) -> list[str]:
    """The errors of a sweep with these mistakes, each as its key and first words."""
    text = SWEEP
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    file = tmp_path / "sweep.yaml"
    file.write_text(text)
    try:
        Plan(load.load(file)).seconds()
    except DocumentError as raised:
        return [error.key for error in raised.errors]
    return []


@pytest.mark.parametrize(
    ("before", "after", "keys"),
    [
        ("report:", "report:", []),
        ("settings:", "setting:", ["setting"]),
        ("measure:", "measures:", ["measures"]),
        ("report:", "reports:", ["reports"]),
        ("columns: label", "colums: label", ["report.0.colums"]),
        ("factors:", "facters:", ["facters"]),
        ("factors:", "variables:", ["variables"]),
        ("zip:", "together:", ["together"]),
        ("measure:", "instruments:", ["instruments"]),
        ("settings:", "machines:", ["machines"]),
        ("exclude:", "skip_when:", ["skip_when"]),
        ("factors:", "roles: [sender, sender]\nfactors:", ["roles.1"]),
        ("[tcp, udp]", "[tcp, udp, udp]", ["factors.protocol.2"]),
        ('protocol == "udp" and', 'protocol = "udp" and', ["exclude.0"]),
        ("[1500, 9000]", "[1500, [9000]]", ["factors.mtu.1"]),
        ("send_size: [1024", "send-size: [1024", ["factors.send-size"]),
        ("exclude:", "factors: {send_size: [1]}\nexclude:", ["factors"]),
        ("report:", "settings: []\nreport:", ["settings"]),
    ],
)
def test_nothing_is_told_that_only_follows(tmp_path, before, after, keys):
    assert told(tmp_path, (before, after)) == keys


@pytest.mark.parametrize(
    ("edits", "keys"),
    [
        (
            [
                ("[tcp, udp]", "[tcp, udpx]"),
                ("[1024, ", "[1024, 1024, "),
                ('"udp" and send_size == 8192', '"sctp"'),
            ],
            ["factors.send_size.1", "exclude.0", "measure.netperf.protocol"],
        ),
        (  # an option under a misspelt section, and one that a misspelt factor cannot reach
            [("settings:", "setting:"), ("9000", "12"), ("[1, 2]", "[1, -2]")],
            ["setting", "settings.0.mtu", "measure.netperf.seconds"],
        ),
        (
            [("[1024, 4096, 8192]", "4096"), ("9000", "12")],
            ["factors.send_size", "settings.0.mtu"],  # no condition is about 4096
        ),
        (
            [("[1024, 4096, 8192]", "4096"), ("[1500, 9000]", "[12, 13]")],
            ["factors.send_size", "settings.0.mtu"],  # but whatever is excluded, that is wrong
        ),
        (  # keys that are there again, and a packet count that hides no role
            [
                ("report:", "trace: {roles: [recever], packets: 0}\nreport:"),
                ("trial", "trial\nquestion: a\nquestion: b\nquestion: c"),
                ("[1, 2]", "[1, -2]"),
            ],
            ["question", "question", "measure.netperf.seconds", "trace.packets", "trace.roles.0"],
        ),
        (
            [("report:", 'trace: "${mtu}"\nreport:'), ("[1, 2]", "[[1]]")],
            ["zip.seconds.0", "trace"],
        ),
        ([("[small, large]", "small"), ("[1, 2]", "[1, 1]")], ["zip.label"]),
        (
            [("[1500, 9000]", "[1500, {}]"), ("[1, 2]", "[1, -2]")],
            ["factors.mtu.1", "measure.netperf.seconds"],
        ),
    ],
)
def test_an_error_hides_only_what_may_depend_on_it(tmp_path, edits, keys):
    assert told(tmp_path, *edits) == keys


@pytest.mark.parametrize(
    ("edits", "keys"),
    [
        (  # each value that does not suit is a mistake of its own
            [("[tcp, udp]", "[tcp, udpx, tcpx]")],
            ["exclude.0", "measure.netperf.protocol", "measure.netperf.protocol"],
        ),
        ([("[1500, 9000]", "[12, 13]")], ["settings.0.mtu"]),  # here the lookup may be wrong
        (  # a condition that cannot be read in part keeps what its rest keeps
            [('"udp" and send_size', '"udp" and sendsize'), ("[tcp, udp]", "[tcpx, udp]")],
            ["exclude.0", "measure.netperf.protocol"],
        ),
        (  # and removes, for all that is known, the rest
            [('"udp" and send_size', '"udp" and sendsize'), ("[tcp, udp]", "[tcp, udpx, udp]"),
             ('protocol == "udp"', 'protocol == "udpx"')],
            ["exclude.0"],
        ),
        (
            [('protocol == "udp" and send_size', '(protocol == "udp" and sendsize)'),
             ("[tcp, udp]", "[tcpx, udp]")],
            ["exclude.0"],
        ),
        ([("netperf: {", "netprf: {"), ("[1, 2]", "[1, -2]")],
         ["measure.netprf", "measure.netperf.seconds"]),
    ],
)  # fmt: skip
def test_what_of_a_plan_is_sure_is_told(tmp_path, edits, keys):
    assert told(tmp_path, *edits) == keys
