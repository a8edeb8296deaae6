"""fq and fq_codel on a kernel that has them: Debian's user-mode-linux, on this machine's files.

The whole of it is one boot, of about five seconds; it is passed over where it is not installed.
"""

from __future__ import annotations

import json
import sys

import pytest
import uml

pytestmark = [pytest.mark.lab, pytest.mark.alone]

MODULES = ("net/sched/sch_fq", "net/sched/sch_fq_codel", "net/sched/sch_tbf", "drivers/net/veth")

SCRIPT = """\
import json, socket, subprocess, time
subprocess.run("ip link add data0 type veth peer name data1", shell=True, check=True)
subprocess.run("ip link set data0 up; ip link set data1 up", shell=True, check=True)

from netlimits import pace
from netlimits.model import Completed, Pace
from netlimits.settings.applied import Applied

def tc(*words):
    return subprocess.run(["tc", *words], capture_output=True, text=True, check=True).stdout

def shown():
    return tc("-r", "-d", "qdisc", "show", "dev", "data0")

class Here:
    name = "sender"  # without the local host's shell: a fork is dear in this kernel

    def run(self, command):
        done = subprocess.run(command.argv, capture_output=True, text=True)
        return Completed("sender", command, done.returncode, done.stdout, done.stderr, 0.0)

host = Here()
rows = []
for found in {found!r}:
    if found:
        tc("qdisc", "replace", "dev", "data0", "root", "handle", "77:", *found.split())
    before = shown()
    applied = Applied(lambda _: host, lambda _: None, lambda _: None)
    during = []
    for wanted in {wishes!r}:
        applied.reach("sender", "data0", "qdisc", wanted)
        during.append(shown())
    applied.put_back()
    rows.append({{"before": before, "during": during, "after": shown()}})
    if found:
        tc("qdisc", "del", "dev", "data0", "root")

def sent_by_a_paced_socket():
    # bit/s of user data from a socket that asks for a rate as netperf -q does, under its fq
    pace_ = Pace({rate!r}, {rate!r} * (1024 + 42) / 1024)
    use, options = pace.paced(pace.SOCKET, pace_, ("sender",), {{}})
    applied = Applied(lambda _: host, lambda _: None, lambda _: None)
    applied.reach("sender", "data0", use.name, use.options)
    subprocess.run("ip address add 198.51.100.1/24 dev data0", shell=True, check=True)
    beyond = "198.51.100.2 lladdr 02:00:00:00:00:02 dev data0"
    subprocess.run(f"ip neighbour add {{beyond}}", shell=True, check=True)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, 47, options["pacing"])  # SO_MAX_PACING_RATE, bytes/s
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 49152)
    datagram, sent, start = bytes(1024), 0, time.monotonic()
    while time.monotonic() < start + 4:
        sent += sock.sendto(datagram, ("198.51.100.2", 9))
    return 8 * sent / (time.monotonic() - start)

print(json.dumps({{"rows": rows, "socket": sent_by_a_paced_socket()}}))
"""
RATE = 20e6

FOUND = [
    "",
    "fq limit 500 flow_limit 50 maxrate 1234567bit nopacing horizon 5s horizon_cap",
    "fq_codel limit 500 flows 64 target 7ms interval 90ms noecn memory_limit 4mb",
]
WISHES = [
    {"kind": "fq", "maxrate": "100mbit", "limit": 300},
    {"kind": "fq"},
    {"kind": "tbf", "rate": "1gbit", "burst": "128kb", "latency": "50ms"},
]


def test_fq_is_made_anew_each_time_and_what_was_found_comes_back(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(found=FOUND, wishes=WISHES, rate=RATE))
    printed = uml.run(tmp_path, f"{sys.executable} {script}", MODULES)
    said = json.loads(printed.splitlines()[-1])
    rows = said["rows"]
    assert len(rows) == len(FOUND)
    for row in rows:
        first, second, third = row["during"]
        assert "limit 300p" in first
        assert "maxrate 100Mbit" in first
        assert "limit 10000p" in second
        assert "maxrate" not in second
        assert "tbf" in third
        assert row["after"] == row["before"]
    assert said["socket"] == pytest.approx(RATE, rel=0.02), "paced at its socket"
