"""CPU time of others on a host, from what the sampler prints, and on a real one."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from waiting import wait

from netlimits.evidence import sample
from netlimits.evidence.sample import resources
from netlimits.hosts.local import local_host
from netlimits.model import Completed


def printed(text: str) -> Completed:
    return Completed("h", ("sh",), 0, text, "", 1.0)


BUSY = printed("others 1.50 of 2.000\nother 1.40 77 stress-ng-cpu\nother 0.10 1 a\n")


@pytest.mark.parametrize(
    ("samples", "figures"),
    [
        ([BUSY], {"other_cpu_pct": 75.0, "other_cpu_of": "stress-ng-cpu"}),
        ([printed("others 0.00 of 2.000\n")], {"other_cpu_pct": 0.0}),
        ([printed("look 1.0\n")], {}),
        ([printed("others 1.50 of 0.000\n")], {}),
        ([BUSY, printed("others 1.00 of 2.000\nother 1.00 7 sh\n")],
         {"other_cpu_pct": 75.0, "other_cpu_of": "stress-ng-cpu"}),
        ([BUSY, printed("look 1.0\n")], {}),
        ([], {}),
    ],
)  # fmt: skip
def test_it_is_in_percent_of_one_cpu_of_the_busiest_host(samples, figures):
    assert resources.other_programs(samples) == figures


LATE = ("(time, 0, 5)", "(time, 0, 0)")
"""The sampler ends without waiting for data, which nothing sends here."""


@pytest.fixture
def hog(tmp_path) -> Path:
    """A program that takes a CPU and prints its process's number."""
    hog = tmp_path / "hog"
    hog.write_text("#!/bin/sh\necho $$; exec >/dev/null 2>&1; while :; do :; done\n")
    hog.chmod(0o755)
    return hog


def begun(hog: Path) -> int:
    return int(subprocess.run(["setsid", "--fork", hog], capture_output=True, check=True).stdout)


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("perl"), reason="needs Perl")
def test_the_time_of_a_process_that_begins_in_mid_run_is_counted(hog):
    command = sample.command(
        *("netperf", ("127.0.0.1",), 1), seconds=2, interface="lo", tools=("netperf",), deadline=60
    )
    argv = (*(word.replace("@busy[0 .. 2]", "@busy").replace(*LATE) for word in command.argv),)
    with ThreadPoolExecutor() as threads, contextlib.closing(local_host()) as host:
        seen = threads.submit(host.run, dataclasses.replace(command, argv=argv))
        wait(lambda: 19 in priorities(), "the sampler begins its first reading")
        pid = begun(hog)
        try:
            text = seen.result().stdout
        finally:
            os.kill(pid, signal.SIGKILL)
    assert f" {pid} hog\n" in text


def priorities() -> list[int]:
    """The nice values of the processes that descend from this one."""
    ours, values = {os.getpid()}, []
    for process in psutil.process_iter(["pid", "ppid", "nice"]):
        if process.info["ppid"] in ours:
            ours.add(process.info["pid"])
            values.append(process.info["nice"])
    return values


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("perl"), reason="needs Perl")
@pytest.mark.parametrize("kept", [True, False], ids=["kept Perl", "own Perl"])
@pytest.mark.parametrize("tools", [("netperf",), ("netperf", "hog")], ids=["a hog", "a tool"])
def test_the_time_of_a_process_is_counted_unless_it_is_a_tool(hog, kept, tools):
    command = sample.command(
        *("netperf", ("127.0.0.1",), 1),
        seconds=0.6, interface="lo", tools=tools, deadline=60,
    )  # fmt: skip
    # On a busy machine this hog is not among the three busiest.
    three = "@busy[0 .. 2]"
    every = (*(word.replace(three, "@busy").replace(*LATE) for word in command.argv),)
    perl = command.perl.replace(three, "@busy")
    assert every != command.argv
    command = dataclasses.replace(command, argv=every, perl=perl)
    pid = begun(hog)
    try:
        with contextlib.closing(local_host()) as host:
            seen = host.run_in_turn([command])[0] if kept else host.run(command)
    finally:
        os.kill(pid, signal.SIGKILL)
    figures = resources.other_programs([seen])
    assert seen.stdout.count("\nothers ") == 1, seen.stderr
    ours = f" {pid} hog\n" in seen.stdout
    assert ours == ("hog" not in tools)
    assert not ours or figures["other_cpu_pct"] > 0


def stat(pid: int, parent: int, own: int, children: int = 0, began: int = 7) -> str:
    return f"{pid} (p{pid}) S {parent} {'0 ' * 9}{own} 0 {children} 0 0 0 0 0 {began}"


@pytest.mark.skipif(not shutil.which("perl"), reason="needs Perl")
@pytest.mark.parametrize(
    ("heir", "grew"),
    [(1, {}), (10, {10: 550}), (15, {15: 550}), (15, {15: 570}), (10, {10: 500, 15: 50})],
    ids=["init", "a subreaper", "its grandparent", "and a new child", "parent and child apart"],
)
def test_the_life_of_a_process_that_ended_is_not_counted_as_its_heirs(heir, grew, tmp_path):
    """30 (500 ticks) and its parent 20 (50 ticks) end between two readings."""
    parents = {1: 0, 10: 1, 15: 10, 20: 15, 30: 20}
    used = {1: 9, 10: 1, 15: 1, 20: 50, 30: 500}
    before = {pid: stat(pid, parents[pid], used[pid]) for pid in parents}
    after = {pid: stat(pid, parents[pid], used[pid], grew.get(pid, 0)) for pid in (1, 10, 15)}
    script = (Path(sample.__file__).parent / "other_processes.pl").read_text()
    hashes = [
        "{" + ",".join(f"{pid}=>'{line}'" for pid, line in processes.items()) + "}"
        for processes in (before, after)
    ]
    call = f"print Others::grown([0, {hashes[0]}], [2, {hashes[1]}], 'netperf')"
    done = subprocess.run(
        ["perl", "-e", f"{script}\n;$Others::ticks = 100; {call}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    new = max(0, sum(grew.values()) - 550)
    assert done.stdout.splitlines()[0] == f"others {new / 100:.2f} of 2.000", done.stderr
