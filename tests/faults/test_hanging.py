"""What hangs until our deadline ends it, in two labs at once: a link that is down, a tool that lies."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from faults.ground import Ground, statuses, wait
from waiting import BRIEF

from netlimits.hosts.base import OUTPUT_LIMIT

pytestmark = pytest.mark.lab

TEXT = """\
experiment: hanging
settings:
  - roles: [sender, receiver]
    offload: {tso: off}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 3, order: listed}
"""
LYING = """\
#!/bin/sh
# netperf as it is when it is asked what it can do; a different thing each time it shall measure
case "$*" in *"-P 0"*) ;; *) exec {real} "$@" ;; esac
[ -e {journal} ] || exec {real} "$@"
read -r n <{count}
echo $((n + 1)) >{count}
case $n in
1) head -c 5000 /dev/urandom ;;
2) ;;
3) head -c {more} /dev/zero | tr '\\0' x ;;
4) printf 'THROUGHPUT=\\033]0;owned\\007\\033[2J\\nTHROUGHPUT=nan\\nELAPSED_TIME=1e999\\n' ;;
5) {real} "$@" | sed 's/^ELAPSED_TIME=.*/ELAPSED_TIME=one/' ;;
6)
    trap '' TERM HUP INT
    (trap '' TERM HUP INT; while :; do sleep 1; done) &
    while :; do sleep 1; done
    ;;
*) exec {real} "$@" ;;
esac
"""


def data_link_down(ground: Ground) -> None:
    """It goes down in mid-run, and is back for the last one, at the latest."""
    out = ground.folder / "out"
    process = ground.campaign(TEXT, out)
    with ground.held(process, out) as hanging:  # one that is not connected yet fails at once
        ground.inside("receiver", "ip", "link", "set", "data0", "down")
    try:
        wait(
            lambda: not any(Path(f"/proc/{pid}").exists() for pid in hanging),
            "our deadline ends it on the host",
            longest=BRIEF,
        )
    finally:
        ground.inside("receiver", "ip", "link", "set", "data0", "up")
    ground.ended(process, 1)
    rows = ground.settled(out)
    first, _, last = statuses(rows)  # a busy machine may begin the second before the link is up
    assert (first, last) == ((1, 1, "invalid"), (3, 1, "ok"))
    assert "receiver: data0: its state was changed from up to down" in rows[0][3]


def lying_tool(ground: Ground) -> None:
    """It prints garbage, nothing, too much, control codes, half the truth; and never ends."""
    real = shutil.copy(shutil.which("netperf"), ground.folder / "netperf.real")
    out, count = ground.folder / "out", ground.folder / "count"
    count.write_text("1\n")
    more, journal = OUTPUT_LIMIT + 2**20, out / "journal.jsonl"
    fake = ground.folder / "netperf"
    fake.write_text(LYING.format(real=real, count=count, journal=journal, more=more))
    fake.chmod(0o755)
    text = TEXT.replace("replicates: 3", "replicates: 7")
    with ground.mounted("sender", "--bind", str(fake), shutil.which("netperf")):
        printed = ground.ended(ground.campaign(text, out), 1)
    assert "\x1b" not in printed
    assert "\x07" not in printed
    rows = ground.settled(out)
    failed = [(n, 1, "failed") for n in range(1, 6)]
    assert statuses(rows) == [*failed, (6, 1, "timeout"), (7, 1, "ok")]
    reasons = [reason for *_, reason in rows]
    assert reasons[0].startswith("netperf printed no")
    assert reasons[1].startswith("netperf printed no")
    assert reasons[2] == "netperf printed too much output to keep"
    assert all(reasons[:6])
    kept = [path.stat().st_size for path in sorted((out / "raw").iterdir())]
    assert OUTPUT_LIMIT < max(kept) < 1.1 * OUTPUT_LIMIT, "16 MiB of it is kept, and no more"


def test_a_link_that_is_down_and_a_tool_that_lies(ground, second):
    with ThreadPoolExecutor(2) as pool:
        down, lying = pool.submit(data_link_down, ground), pool.submit(lying_tool, second)
    down.result()
    lying.result()
