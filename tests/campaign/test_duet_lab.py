"""Duets on real hosts: interleaved over SSH, killed, resumed, put back, compared within blocks."""

from __future__ import annotations

import json
import signal
from collections import Counter

import pytest
from campaign.test_campaign_lab import Lab, gone
from waiting import BRIEF, wait

import netlimits as nl

pytestmark = pytest.mark.lab

QDISC = "tc qdisc replace dev data0 root tbf rate 4mbit burst 64kb latency 20ms"
"""A twenty-fifth of what the path carries: a busy machine, too, sends more than twice as much."""
SWITCHED = f"""\
experiment: switched
factors: {{send_size: [1024]}}
settings:
  - roles: [sender]
    switch:
      verify: [sh, -c, "tc qdisc show dev data0 root | grep -q tbf && echo shaped || echo open"]
      command:
        open: [tc, qdisc, del, dev, data0, root]
        shaped: [{", ".join(QDISC.split())}]
      to: open
measure:
  netperf: {{seconds: 1, send_size: "${{send_size}}"}}
repeat: {{replicates: 6, seed: 3}}
"""
SHAPED = ("--against", "settings.0.switch.to=shaped", "--sides", "old,new")


@pytest.fixture
def on(lab, tmp_path) -> Lab:
    return Lab(lab, tmp_path)


@pytest.fixture
def hosts(lab) -> tuple[str, str]:
    return ("--hosts", str(lab.hosts_file))


def qdiscs(on: Lab) -> str:
    return on.inside("sender", "tc", "qdisc", "show", "dev", "data0")


def test_it_is_killed_in_mid_block_resumed_put_back_and_compared(on, hosts):
    before, out = qdiscs(on), on.folder / "out"
    process = on.start("run", on.experiment(SWITCHED), *hosts, *SHAPED, "--out", out)

    def in_mid_block() -> bool:
        """Whether it stands still in a run of the second side, some runs of whose block are done."""
        assert process.poll() is None, process.communicate()
        if "tbf" not in qdiscs(on) or not on.running("netperf"):
            return False
        process.send_signal(signal.SIGSTOP)
        begun = len(nl.open(out).records())
        measuring = on.running("netperf")  # meanwhile nothing is set on a host
        if begun > 2 and begun % 2 != 1 and measuring and "tbf" in qdiscs(on):
            return True
        process.send_signal(signal.SIGCONT)
        return False

    wait(in_mid_block, "a run of the second side in the middle of a block", longest=BRIEF)
    process.kill()
    process.communicate()
    assert "tbf" in qdiscs(on), "it is killed: nobody has put anything back"
    assert "receiver" not in str(nl.open(out).state()["not_put_back"])

    status = on("status", out).stdout
    assert "switch" in status
    resumed = on("resume", out).stdout
    assert qdiscs(on) == before
    gone(on, "netserver")
    assert on.notes() == ["", ""]
    campaign = nl.open(out)
    state = campaign.state()
    assert (state["ok"], state["left"], state["not_put_back"]) == (12, 0, [])
    frame = campaign.frame().query("status == 'ok'")
    for _, block in frame.groupby("block"):
        assert Counter(zip(block["side"], block["send_size"], strict=True)) == {
            (side, size): 1 for side in ("old", "new") for size in [1024]
        }

    held_back = frame.groupby("side")["local_qdisc_overlimits"]
    assert held_back.max()["old"] == 0 < held_back.min()["new"]

    assert f"next: netlimits compare {out}" in resumed
    told = on("compare", out, "--of", "throughput", status=4).stdout
    assert "new against old: 1 worse" in told
    assert "interleaved in the same blocks" in told
    (compared,) = json.loads(on("compare", out, "--of", "throughput", "--json", status=4).stdout)
    assert [row["blocks"] for row in compared["rows"]] == [6]
    assert all(0 < row["ratio"] < 0.5 for row in compared["rows"]), compared["rows"]

    on("parse", out)
    on("extend", out, "--replicates", "1", "--seed", "5")
    assert qdiscs(on) == before
    assert len(nl.open(out).frame().query("status == 'ok'")) == 14
    printed = on("table", out).stdout
    assert all(f"\n{side} " in printed for side in ("old", "new")), printed
    on("figures", out, "--out", on.folder / "figures", "--format", "svg")
    on("report", out)
    assert "old" in on("explain", out).stdout


def test_a_position_that_no_command_leads_back_to_is_refused_before_the_first_run(on, hosts):
    before = qdiscs(on)
    text = SWITCHED.replace("echo open", "echo closed")
    ran = on("run", on.experiment(text), *hosts, *SHAPED, "--out", on.folder / "out", status=2)
    assert "says closed, and no command leads back there" in ran.stderr
    assert not (on.folder / "out").exists()
    assert qdiscs(on) == before


def test_a_side_on_other_machines(switched, tmp_path):
    on = Lab(switched, tmp_path)
    first, second, third = (
        f"{{ssh: {switched.login(host)}, interface: data0}}" for host in switched.hosts
    )
    config = f"ssh_config: {switched.ssh_config}\n"
    (tmp_path / "here.yaml").write_text(f"{config}sender: {first}\nreceiver: {second}\n")
    (tmp_path / "there.yaml").write_text(f"{config}sender: {first}\nreceiver: {third}\n")
    text = (
        "experiment: elsewhere\nsettings: [{roles: [receiver], mtu: 1400}]\n"
        "measure: {netperf: {seconds: 1, send_size: 1024}}\nrepeat: {replicates: 2}\n"
    )
    words = (on.experiment(text), "--hosts", "here.yaml", "--against-hosts", "there.yaml")
    assert "1 before, 1 after; 1 on both sides" in on("plan", *words).stdout
    assert "0 errors" in on("check", *words).stdout
    on("run", *words, "--out", "out")
    campaign = nl.open(tmp_path / "out")
    assert campaign.state()["ok"] == 4
    assert list(campaign.archive.machines) == ["sender", "receiver", "after-receiver"]
    raw = {
        run.values["side"]: {e.host for e in campaign.archive.raw.read(number, 1)}
        for number, run in campaign.runs.items()
    }
    assert raw["before"] >= {"sender", "receiver"}
    assert raw["after"] >= {"sender", "after-receiver"}
    assert "mtu 1500" in on.inside(switched.hosts[1], "ip", "link", "show", "data0")
    assert "mtu 1500" in on.inside(switched.hosts[2], "ip", "link", "show", "data0")
    on("parse", "out")
    on("compare", "out", status=None)
