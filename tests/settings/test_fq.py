"""fq and fq_codel on a kernel that has them: Debian's user-mode-linux, on this machine's files.

The whole of it is one boot, of about five seconds; it is passed over where it is not installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lab

INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
mount -t proc proc /proc; mount -t sysfs sys /sys
for module in net/sched/sch_fq net/sched/sch_fq_codel net/sched/sch_tbf drivers/net/veth; do
    insmod /usr/lib/uml/modules/$(uname -r)/kernel/$module.ko
done
ip link set lo up
ip link add data0 type veth peer name data1
ip link set data0 up; ip link set data1 up
cd {root} && {python} {script} >{out} 2>&1
halt -f
"""

SCRIPT = """\
import json, subprocess
from netlimits.model import Completed
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
print(json.dumps(rows))
"""

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
    if os.geteuid() != 0:
        pytest.skip("hostfs as the root file system needs root")
    missing = [name for name in ("linux.uml", "insmod", "script") if not shutil.which(name)]
    assert not missing, f"no {', '.join(missing)}: scripts/setup --tests installs them"
    root = Path(__file__).parents[2]
    script, init, out = (tmp_path / name for name in ("script.py", "init", "out"))
    script.write_text(SCRIPT.format(found=FOUND, wishes=WISHES))
    init.write_text(INIT.format(root=root, python=sys.executable, script=script, out=out))
    init.chmod(0o755)
    boot = (
        f"linux.uml mem=256M rootfstype=hostfs rootflags=/ rw init={init} "
        "con0=fd:0,fd:1 con=null con1=null quiet"
    )
    subprocess.run(
        ["script", "-qec", boot, "/dev/null"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=240,
        check=False,
    )
    rows = json.loads(out.read_text().splitlines()[-1])
    assert len(rows) == len(FOUND)
    for row in rows:
        first, second, third = row["during"]
        assert "limit 300p" in first
        assert "maxrate 100Mbit" in first
        assert "limit 10000p" in second
        assert "maxrate" not in second
        assert "tbf" in third
        assert row["after"] == row["before"]
