"""Every reader under whatever bytes come: only netlimits' own errors, in bounded time and memory."""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fuzz import targets
from fuzz.targets import Target, regressions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import netlimits.evidence
from netlimits import tools
from netlimits.checks import AFTERWARDS, CHECKS
from netlimits.errors import NetlimitsError
from netlimits.evidence import facts
from netlimits.settings import SETTINGS

GUIDED = Path(__file__).with_name("guided.py")
INPUTS = 8_000
"""How many the run of the tests must really read."""

SECONDS = 60.0
"""Of CPU time, that one input may take."""

WITH_ATHERIS = pytest.mark.skipif(
    sys.version_info >= (3, 14) or platform.machine() != "x86_64",
    reason="there is no atheris for this Python or CPU",
)

EVERY = pytest.mark.parametrize("target", targets.targets().values(), ids=targets.targets())


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    monkeypatch.setattr(targets, "SCRATCH", tmp_path)


def read(target: Target, data: bytes) -> None:
    began = time.process_time()
    target(data)
    assert time.process_time() - began < SECONDS


def test_whatever_is_registered_is_a_target():
    readers = targets.targets()
    assert {f"{tool.name} output" for tool in tools.TOOLS} <= readers.keys()
    assert {f"{tool.name} features" for tool in tools.TOOLS} <= readers.keys()
    assert {f"setting {setting.name}" for setting in SETTINGS} <= readers.keys()
    assert {f"fact {fact.name}" for fact in facts.FACTS} <= readers.keys()
    looking = [
        check for check in (*CHECKS, *AFTERWARDS) if check.commands(targets._site(), "sender")
    ]
    assert {f"check {check.name}" for check in looking} <= readers.keys()
    assert len(looking) == 8
    assert {
        f"evidence {evidence.name}" for evidence in netlimits.evidence.counted.EVIDENCE
    } <= readers.keys()
    assert {
        "evidence.cpu.times",
        "hosts.servers.listens",
        "campaign.parallel.split",
    } <= readers.keys()


def test_a_reader_that_raises_something_else_is_a_finding():
    def broken(data: bytes) -> None:
        if data == b"x":
            raise KeyError("x")
        raise NetlimitsError("ours")

    Target("broken", broken)(b"y")
    with pytest.raises(KeyError):
        Target("broken", broken)(b"x")


@EVERY
def test_what_was_once_found_stays_mended(target: Target):
    for path in regressions(target):
        read(target, path.read_bytes())


def test_each_regression_belongs_to_a_target():
    assert {path.name for path in targets.REGRESSIONS.iterdir()} <= targets.targets().keys()


PIECES = st.sampled_from(
    [b"", b"\n", b"\0", b"nan", b"-1", b"9" * 30, b"[" * 3000, b"\xff\xfe", "\u2028".encode(),
     b'{"a":' * 2000, b"1e999", b"Infinity", "\u00b2".encode(), b"\x1b[2J", targets.SPLIT]
) | st.binary(max_size=12)  # fmt: skip


@pytest.mark.long
@EVERY
@settings(
    max_examples=25, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(data=st.data())
def test_captures_cut_doubled_and_changed(target: Target, data: st.DataObject):
    seed = data.draw(st.sampled_from(target.seeds or (b"",)))
    a, b = sorted(data.draw(st.tuples(*[st.integers(0, len(seed))] * 2)))
    read(target, seed[:a] + data.draw(PIECES) + seed[b:])


@WITH_ATHERIS
@pytest.mark.long
def test_guided_by_coverage(tmp_path):
    """At least INPUTS of them, counted where they are read; the same ones each time."""
    command = [sys.executable, str(GUIDED), "--runs", str(INPUTS * 11 // 10), "--keep", tmp_path]
    ran = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert ran.stdout, ran.stderr[-3000:]
    report = json.loads(ran.stdout)
    findings = [
        f"{outcome['target']} after {outcome['inputs']} inputs, see {outcome['artifacts']}: {outcome['finding']}"
        for outcome in report["targets"]
        if outcome["finding"]
    ]
    assert not findings, "\n\n".join(findings)
    assert {outcome["target"] for outcome in report["targets"]} == targets.targets().keys()
    assert report["inputs"] >= INPUTS
    assert ran.returncode == 0
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2**20  # KiB: 1 GiB


BROKEN = {
    "crash": ("raise KeyError('x')", "KeyError"),
    "leak": ("held.append(bytearray(2**21))", "out-of-memory"),
    "hang": ("time.sleep(60)", "timeout"),
}


@WITH_ATHERIS
@pytest.mark.long
def test_a_crash_a_leak_and_a_hang_are_found(tmp_path):
    """What would let everything pass is found out: readers that are broken on purpose."""
    readers = "".join(f"def {name}(data):\n    {body}\n" for name, (body, _) in BROKEN.items())
    script = tmp_path / "broken.py"
    script.write_text(
        "import json, sys, time, types, pathlib\n"
        f"sys.path.insert(0, {str(GUIDED.parent)!r})\n"
        "sys.modules['fuzz'] = fuzz = types.ModuleType('fuzz')\n"  # without netlimits and its readers
        "fuzz.targets = types.SimpleNamespace(SPLIT=b'%', regressions=lambda target: [])\n"
        "import guided\n"
        f"held = []\n{readers}"
        "guided.SECONDS, guided.MEGABYTES = 1, 256\n"
        "class Target:\n"
        "    seeds, words, weight = (b'x',), (), 1.0\n"
        "    def __init__(self, name): self.name = name\n"
        "    def __call__(self, data): globals()[self.name](data)\n"
        f"broken = {{name: Target(name) for name in {[*BROKEN]}}}\n"
        "guided.targets.targets = lambda: broken\n"
        f"results = guided.fuzz([*broken], 300000, 1, 2, pathlib.Path({str(tmp_path)!r}))\n"
        "print(json.dumps({one.target: [one.finding, len(one.artifacts)] for one in results}))\n"
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    outcomes = json.loads(ran.stdout)
    assert outcomes.keys() == BROKEN.keys(), ran.stderr[-2000:]
    for name, (finding, artifacts) in outcomes.items():
        assert BROKEN[name][1] in finding, ran.stderr[-2000:]
        assert artifacts == 1
