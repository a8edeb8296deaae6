"""Campaigns on real hosts: real SSH, netperf, ethtool; put back after every way to end."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import pandas as pd
import pytest
import warm
from recorded import edited
from waiting import BRIEF, LONG, inside, wait

import netlimits as nl
from netlimits.archive.raw import BEFORE, DROPS
from netlimits.evidence import cpu
from netlimits.lab import labs
from netlimits.settings import carrier

pytestmark = pytest.mark.lab
ROOT = Path(__file__).parents[2]

SMALL = """\
experiment: small
factors:
  protocol: [tcp, udp]
  offloads: [on, off]
settings:
  - roles: [sender, receiver]
    offload: {tso: "${offloads}", gso: "${offloads}", gro: "${offloads}"}
measure:
  netperf: {seconds: 1, protocol: "${protocol}", send_size: 1024}
repeat: {replicates: 2, order: blocked, seed: 3}
"""


TWO = ("--set", "factors.protocol=[tcp]", "--set", "repeat.replicates=1")
ONE = (*TWO, "--set", "factors.offloads=[off]")
BOTH = (*ONE, "--set", "factors.protocol=[tcp,udp]")
"""So many runs of SMALL, and one of each protocol: datagrams are sent as fast as a CPU can."""


class Lab:
    """The lab, and netlimits run against it as a user would."""

    def __init__(self, lab: labs.Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder

    def argv(self, command: str, *argv: object) -> list[str]:
        return [sys.executable, "-m", "netlimits", command, *map(str, argv)]

    def __call__(
        self, command: str, *argv: object, status: int | None = 0
    ) -> subprocess.CompletedProcess:
        ran = warm.run(
            self.argv(command, *argv),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=2 * LONG,
        )
        assert status in (None, ran.returncode), ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr
        return ran

    def start(self, command: str, *argv: object) -> subprocess.Popen:
        return warm.Popen(
            self.argv(command, *argv), cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def experiment(self, text: str = SMALL) -> Path:
        path = self.folder / "small.yaml"
        path.write_text(text)
        return path

    def inside(self, host: str, *argv: str) -> str:
        namespace = ("ip", "netns", "exec", self.lab.namespace(host))
        return subprocess.run(
            [*namespace, *argv], capture_output=True, text=True, check=True
        ).stdout

    def features(self) -> dict[str, str]:
        return {host: self.inside(host, "ethtool", "-k", "data0") for host in self.lab.hosts}

    def running(self, *names: str) -> list[str]:
        """Command lines of our kinds of process inside the lab's hosts."""
        processes = []
        for host in self.lab.hosts:
            for pid in inside(self.lab.namespace(host)):
                try:
                    line = Path("/proc", str(pid), "cmdline").read_bytes().decode().split("\0")
                except OSError:
                    continue
                if any(name in " ".join(line) for name in names):
                    processes.append(" ".join(line))
        return processes

    def notes(self) -> list[str]:
        """The notes on each host, seen over a login: a host's /run is its own."""
        ssh = ["ssh", "-F", str(self.lab.ssh_config)]
        return [
            subprocess.run(
                [*ssh, self.lab.login(host), "ls -A /run/netlimits 2>/dev/null || true"],
                capture_output=True, text=True, check=True,
            ).stdout
            for host in self.lab.hosts
        ]  # fmt: skip


@pytest.fixture
def on(lab, tmp_path) -> Lab:
    return Lab(lab, tmp_path)


@pytest.fixture
def hosts(lab) -> tuple[str, str]:
    return ("--hosts", str(lab.hosts_file))


def gone(on: Lab, *names: str) -> bool:
    """Whether no such process is left in the lab, before long."""
    return wait(lambda: not on.running(*names), f"{names} are gone")


def test_the_reports_experiment_from_yaml_to_table_and_charts(on, hosts):
    before = on.features()
    on("run", ROOT / "experiments" / "stateless-offloads.yaml", *hosts,
       "--set", "measure.netperf.seconds=1", "--set", "repeat.replicates=1", "--out", "out")  # fmt: skip
    assert on.features() == before
    assert gone(on, "netserver", "netperf")
    assert not any(on.notes())

    campaign = nl.open(on.folder / "out")
    frame = campaign.frame()
    assert len(frame) == 6
    assert set(frame["status"]) == {"ok"}
    assert frame["shared_kernel"].all()
    assert (frame["throughput_mbps"] > 0).all()
    # the ends' rates are over seconds of their own; what their interfaces counted has none
    assert (frame["remote_rx_bytes"] <= frame["local_tx_bytes"]).all()
    of_tcp = frame["protocol"] == "tcp"
    written = frame["local_send_calls"] * frame["send_size"]
    assert (written[of_tcp] <= frame["local_tx_bytes"][of_tcp]).all(), "with headers it is more"
    tcp = frame[frame["protocol"] == "tcp"]
    assert (tcp["transport_mss_bytes"] == tcp["send_size"]).all()

    table = on("table", "out").stdout
    for words in ("Throughput (Mbit/s", "TCP off", "8192", "improvement", "Receive service demand"):
        assert words in table
    assert "one kernel" in table
    written = on("figures", "out", "--format", "svg").stdout.split()
    assert len(written) == 3
    assert all((on.folder / path).stat().st_size > 5000 for path in written)


def test_our_cpu_and_service_demand_agree_with_netperfs(direct, tmp_path):
    """Ours are of nearly the time of netperf's, by ticks as it counts; benchmarks have how near.

    A row's figures agree, and of what ticks do not show it says how much that is.
    """
    on = Lab(direct, tmp_path)
    long = ("--set", "measure.netperf.seconds=2")
    on("run", on.experiment(), "--hosts", direct.hosts_file, *BOTH, *long, "--out", "out")
    campaign = nl.open(on.folder / "out")
    rows = campaign.frame().to_dict("records")
    assert len(rows) == 2
    entries = campaign.archive.raw.read(rows[0]["run"], rows[0]["attempt"])
    cpus = {e.host: len(cpu.times(e.completed).cpus) for e in entries if e.step == BEFORE}
    for row, (end, role) in product(rows, (("local", "sender"), ("remote", "receiver"))):
        ticks, lost = row[f"{end}_cpu_ticks_pct"], row[f"{end}_lost_ticks_pct"]
        assert ticks == pytest.approx(row[f"netperf_{end}_cpu_pct"], rel=0.15)
        used = row[f"{end}_cpu_pct"] + row[f"{end}_instrument_cpu_pct"]
        if lost:  # where ticks are more than the time there is none
            assert 100 - used == pytest.approx((100 - ticks) * (1 - lost / 100), abs=0.01)
        udp = row["protocol"] == "udp"
        rate = row["local_send_throughput_mbps" if udp else "throughput_mbps"] * 1e6 / 8 / 1024
        demand = row[f"{end}_cpu_pct"] / 100 * cpus[role] * 1e6 / rate
        assert row[f"{end}_sd_us_per_kib"] == pytest.approx(demand, rel=0.005)


def at_work(on: Lab, out: Path, process: subprocess.Popen) -> None:
    """Wait until a run of the campaign measures; the check before it tries netperf too."""
    wait(
        lambda: (
            ((out / "campaign.json").exists() and on.running("netperf -P 0"))
            or process.poll() is not None
        ),
        "a run measures",
        longest=BRIEF,
    )
    assert process.poll() is None, process.communicate()


def test_a_signal_ends_the_run_puts_back_and_says_how_to_resume(on, hosts):
    before = on.features()
    out = on.folder / "out"
    process = on.start(
        "run", on.experiment(), *hosts, "--set", "measure.netperf.seconds=20", "--out", out
    )
    at_work(on, out, process)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)  # an impatient user's does not stop the put-back
    _, complaint = process.communicate(timeout=LONG)
    assert process.returncode == 130
    assert f"netlimits resume {out}" in complaint
    assert "Traceback" not in complaint
    assert on.features() == before
    assert gone(on, "netserver", "netperf")
    (record,) = nl.open(out).records()
    assert record.status == "interrupted"


def test_a_netserver_that_runs_already_is_used_and_left_alone(on, hosts):
    address = on.lab.data("receiver")
    server = subprocess.Popen(
        ["ip", "netns", "exec", on.lab.namespace("receiver"), "netserver", "-D", "-L", f"{address},4"],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait(lambda: ":12865 " in on.inside("receiver", "ss", "-Hltn"), "it listens")
        on("run", on.experiment(), *hosts, *BOTH, "--out", "out")
        assert server.poll() is None
        assert len(on.running("netserver")) == 1
    finally:
        server.terminate()
        server.wait()


def test_only_what_differs_is_written_and_every_write_is_read_back(on, hosts):
    tcp = ("--set", "factors.protocol=[tcp]", "--set", "repeat.replicates=3")
    on("run", on.experiment(), *hosts, *tcp, "--out", "out")
    campaign = nl.open(on.folder / "out")
    levels = [record.run.values["offloads"] for record in campaign.records()]
    changes = [before != after for before, after in pairwise(levels)]
    assert True in changes
    assert False in changes
    last = {}
    for record in campaign.records():
        entries = campaign.archive.raw.read(record.run.number, record.attempt)
        for host in ("sender", "receiver"):
            lines = [" ".join(e.argv) for e in entries if e.host == host and e.step == "settings"]
            writes = [n for n, line in enumerate(lines) if " -K " in line]
            if last.get(host) == record.run.values["offloads"]:
                assert not writes
            assert all(" wait for the link " in f" {lines[n + 1]}" for n in writes)
            assert all(" -k " in lines[n + 2] for n in writes)
            last[host] = record.run.values["offloads"]


BAD = {
    "seconds: 1,": ("seconds: 1, select: [throughput, remote_rcv_throughput],", "did you mean remote_recv_throughput", 1),
    "tso:": ("lro:", "if_fixed: accept", 2),
    "gro:": ("groo:", "did you mean gro", 2),
}  # fmt: skip
"""Text of SMALL -> what stands there instead, the hint, and how many hosts have that fault."""


def test_what_the_hosts_do_not_have_is_said_before_anything_is_touched(on, hosts):
    before, text = on.features(), SMALL
    for old, (new, *_) in BAD.items():
        text = text.replace(old, new)
    ran = on("run", on.experiment(text), *hosts, "--out", "out", status=2)
    lines = ran.stderr.splitlines()
    assert len(lines) == 5, "a line for each fault of each host"
    for _, hint, faults in BAD.values():
        assert sum(hint in line for line in lines) == faults, lines
    assert not (on.folder / "out").exists()
    assert on.features() == before


def written_hosts(on: Lab, **changes: dict[str, str]) -> Path:
    """A hosts file with some machines' entries changed."""
    lab = on.lab
    entries = {
        host: {"ssh": lab.login(host), "interface": "data0", "address": lab.data(host)}
        for host in ("sender", "receiver")
    }
    for host, change in changes.items():
        entries[host] |= change
    path = on.folder / "hosts.yaml"
    path.write_text(json.dumps({"ssh_config": str(lab.ssh_config), **entries}))
    return path


def test_a_login_that_may_run_ethtool_alone_is_enough(on):
    """sudo is asked for exactly the commands that need root, one by one."""
    rule = "engineer ALL=(root) NOPASSWD: /usr/sbin/ethtool, /sbin/ethtool\n"
    files = [on.lab.namespace_files(host) / "sudoers" for host in on.lab.hosts]
    texts = [path.read_text() for path in files]
    before = on.features()
    for path, text in zip(files, texts, strict=True):
        path.write_text(text + rule)  # in place: the host's /etc/sudoers is this very file
    try:
        logins = {host: {"ssh": on.lab.login(host, "engineer")} for host in on.lab.hosts}
        path = written_hosts(on, **logins)
        on("run", on.experiment(), "--hosts", path, *ONE, "--out", "out")
    finally:
        for path, text in zip(files, texts, strict=True):
            path.write_text(text)
    frame = nl.open(on.folder / "out").frame()
    assert set(frame["status"]) == {"ok"}
    entries = nl.open(on.folder / "out").archive.raw.read(1, 1)
    assert [e.argv[0] for e in entries if e.completed.command.sudo] == ["ethtool"] * 2
    assert on.features() == before


def test_values_from_yaml_never_execute_anything(on, hosts):
    marker = on.folder / "marker"
    nasty = f"; touch {marker}"
    hostile = [
        SMALL.replace("send_size: 1024", f"send_size: {json.dumps(nasty)}"),
        SMALL.replace("send_size: 1024", f"send_size: {json.dumps(f'$(touch {marker})')}"),
        SMALL.replace("send_size: 1024", f"send_size: 1024, select: [{json.dumps(nasty)}]"),
        SMALL.replace("tso:", f"{json.dumps(nasty)}:"),
        SMALL.replace(
            "send_size: 1024", f"send_size: 1024, congestion_control: {json.dumps(nasty)}"
        ),
    ]
    for text in hostile:
        on("run", on.experiment(text), *hosts, "--out", "out", status=2)
    # a name that is allowed to be anything goes all the way, and still executes nothing
    named = f"small\n$(touch {marker}) `touch {marker}` '; touch {marker} #\""
    text = SMALL.replace("experiment: small", f"experiment: fine\nquestion: {json.dumps(named)}")
    odd = on.folder / "out;touch marker $(touch marker)"
    on("run", on.experiment(text), *hosts, *ONE, "--out", odd)
    assert not list(on.folder.rglob("marker"))


def test_resume_refuses_another_plan_and_another_host(on, hosts):
    out = on.folder / "out"
    process = on.start("run", on.experiment(), *hosts, *TWO, "--out", out)
    at_work(on, out, process)
    process.kill()
    process.communicate()
    plan = out / "plan.csv"
    kept = plan.read_text()
    plan.write_text(kept.replace("tcp", "udp", 1))
    assert "plan.csv: was changed since the campaign started" in on("resume", out, status=2).stderr
    plan.write_text(kept)
    # whoever makes the checksums right, too, has a folder that is no longer his own
    edited(out, "plan.csv", kept.replace("tcp", "udp", 1))
    assert "does not give plan.csv" in on("resume", out, status=2).stderr
    edited(out, "plan.csv", kept)
    facts = json.loads((out / "hosts" / "sender.json").read_text())
    facts["kernel"]["value"] = "Linux 2.6.11-rc5"
    edited(out, "hosts/sender.json", json.dumps(facts))
    assert "name the hosts" in on("resume", out, status=2).stderr
    own = (*hosts, "--yes")
    assert "not the same hosts" in on("resume", out, *own, status=2).stderr
    on("resume", out, *own, "--accept-changed-hosts")


def test_runs_are_added_to_a_finished_campaign_and_their_end_survives_a_kill(on, hosts):
    before, out = on.features(), on.folder / "out"
    text = SMALL.replace("replicates: 2", "replicates: 1").replace("[tcp, udp]", "[tcp]")
    on("run", on.experiment(text), *hosts, "--out", out)
    first = nl.open(out).frame()
    process = on.start("extend", out, "--replicates", "2", "--seed", "9")
    wait(
        lambda: len(nl.open(out).records()) > 3,
        "the second of the added runs has begun",
        longest=BRIEF,
    )
    process.kill()
    process.communicate()
    assert "resume" in on("extend", out, "--replicates", "1", status=2).stderr
    on("resume", out)
    campaign = nl.open(out)
    assert campaign.state()["left"] == 0
    frame = campaign.frame()
    ok = frame[frame["status"] == "ok"]
    pd.testing.assert_frame_equal(ok.iloc[:2][[*first]], first, check_dtype=False)
    assert list(ok["run"]) == [1, 2, 3, 4, 5, 6]
    assert list(ok["block"]) == [1, 1, 2, 2, 3, 3]
    assert (ok.groupby("block")["offloads"].nunique() == 2).all()
    (event,) = [e for e in campaign.archive.events() if e["event"] == "extended"]
    assert (event["replicates"], event["seed"]) == (2, 9)
    assert on.features() == before
    on("extend", out, "--replicates", "1")
    assert len(nl.open(out).frame().query("status == 'ok'")) == 8


def test_two_processes_cannot_work_on_one_campaign(on, hosts):
    out = on.folder / "out"
    process = on.start("run", on.experiment(), *hosts, *TWO, "--out", out)
    try:
        at_work(on, out, process)
        process.send_signal(signal.SIGSTOP)  # so that it is at work still
        assert "another netlimits" in on("resume", out, status=2).stderr
    finally:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LONG)
    on("resume", out)


LEVELS = """\
experiment: levels
factors:
  level: [all, some, none, all-again]
derive:
  mtu: "1400 if level in ['all', 'all-again'] else null"
  tso: "'off' if level in ['all', 'some', 'all-again'] else null"
  gso: "'off' if level in ['all', 'all-again'] else null"
settings:
  - roles: [sender, receiver]
    mtu: "${mtu}"
    offload: {tso: "${tso}", gso: "${gso}"}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {order: listed}
"""


def test_a_setting_left_out_as_a_level_is_as_it_was_found(on, hosts):
    before = on.features()
    on("run", on.experiment(LEVELS), *hosts, "--out", "left-out")
    campaign = nl.open(on.folder / "left-out")
    frame = campaign.frame()
    assert set(frame["status"]) == {"ok"}, frame["reason"].tolist()
    first, some, none, last = frame["transport_mss_bytes"]
    assert first == last < some == none
    gso = []
    for run in frame["run"]:
        printed = "".join(e.stdout for e in campaign.archive.raw.read(run, 1))
        gso.append(printed.rpartition("generic-segmentation-offload: ")[2].split()[0])
    assert gso == ["off", "on", "on", "off"]
    assert on.features() == before


TO_THE_LETTER = """\
experiment: to-the-letter
factors:
  mtu: [1400, 1500]
  tool: [netperf, iperf3]
derive:
  streams: 2 if tool == 'netperf' else 1
  gso: "'off' if mtu == 1400 else null"
streams: ${streams}
trace: {roles: [sender], packets: 100}
settings:
  - roles: [sender, receiver]
    mtu: "${mtu}"
    offload: {tso: off}
  - roles: [receiver]
    offload: {gso: "${gso}"}
  - roles: [sender]
    sysctl: {net.ipv4.tcp_congestion_control: reno}
measure:
  netperf: {seconds: 1, send_size: 1024, interim_seconds: 0.5}
  iperf3: {seconds: 1, send_size: 1024}
repeat: {replicates: 1, order: listed}
"""


def test_what_plan_prints_is_what_hosts_do(on, lab):
    file = on.experiment(TO_THE_LETTER)
    argv = (file, "--commands", "--json", "--hosts", lab.hosts_file)
    planned = {run["run"]: run["commands"] for run in json.loads(on("plan", *argv).stdout)["first"]}
    printed = on("run", file, "--hosts", lab.hosts_file, "--out", "out").stdout
    following = printed.partition("next: ")[2].splitlines()
    assert [line.split() for line in following] == [
        ["netlimits", command, "out"] for command in ("explain", "table", "figures", "report")
    ]
    campaign = nl.open(on.folder / "out")
    assert len(planned) == len(campaign.records()) == 4
    every, undone = {"told": Counter(), "done": Counter()}, set()
    for record in campaign.records():
        assert record.status == "ok", record.reason
        lines = [(c["role"], c["step"], c["command"]) for c in planned[record.run.number]]
        left_out = {role for role, _, command in lines if command == AS_FOUND}
        told = Counter(line for line in lines if line[2] != AS_FOUND)
        done = Counter(
            (
                entry.host,
                entry.step,
                shlex.join([*["sudo", "-n"][: 2 * entry.completed.command.sudo], *entry.argv]),
            )
            for entry in campaign.archive.raw.read(record.run.number, record.attempt)
            if entry.step != DROPS  # whether a host counts them, no plan can know
        )
        # guards and notes, whether somebody listens or the link is up already, and what a remark
        # stands for
        remarked = {e for e in done - told if e[0] in left_out and e[2].startswith(SWITCH)}
        assert {role for role, *_ in remarked} == left_out
        undone |= left_out
        besides = {command for _, _, command in {*(done - told)} - remarked}
        assert all(c.startswith("sh -c 'umask 077;") or c in AWAITED for c in besides), besides
        # a setting that is there already, and a server that serves from an earlier run
        assert {step for _, step, _ in told - done} <= {"settings", "server"}
        every["told"] |= told
        every["done"] |= done
    never = {entry for entry in {*every["told"]} - {*every["done"]} if entry[1] != "server"}
    assert not never, "every change was made by some run"
    assert undone == {"receiver"}, "some run left out what another had set"
    intervals = campaign.intervals()
    assert (intervals["throughput_mbps"] > 0).any()
    assert (intervals["interval_s"] > 0).all()


AS_FOUND = "# offload: back to how it was found"
SWITCH = ("sudo -n ethtool -K data0 ", "ethtool -k data0")
AWAITED = {"ss -Hltn", shlex.join(carrier.wait("data0").argv)}
