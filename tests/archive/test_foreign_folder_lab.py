"""A killed campaign's folder, for whoever began it and for somebody else, on real hosts."""

from __future__ import annotations

import pytest
from campaign.test_campaign_lab import Lab
from waiting import wait

pytestmark = pytest.mark.lab


@pytest.fixture
def on(lab, tmp_path) -> Lab:
    return Lab(lab, tmp_path)


def test_only_who_began_it_restores_without_saying_where(on, tmp_path, monkeypatch):
    hosts = ("--hosts", str(on.lab.hosts_file))
    before = on.features()
    out = on.folder / "out"
    process = on.start("run", on.experiment(), *hosts, "--out", out)
    wait(lambda: on.features() != before or process.poll() is not None, "something is changed")
    process.kill()
    process.communicate()
    changed = on.features()
    assert changed != before
    moved = out.rename(tmp_path / "moved")
    with monkeypatch.context() as somebody:
        somebody.setenv("XDG_STATE_HOME", str(tmp_path / "somebody-else"))
        for command in (("restore",), ("resume",), ("status", "--guards")):
            complaint = on(command[0], moved, *command[1:], status=2).stderr
            assert "you did not start it on this machine" in complaint
            assert f"netlimits {command[0]} {moved} --hosts FILE" in complaint
        complaint = on("restore", moved, *hosts, status=2).stderr
        assert "to restore: sender: ethtool -K data0" in complaint
        assert "add --yes" in complaint
        assert on.features() == changed
        assert "restored: sender: data0: offload" in on("restore", moved, *hosts, "--yes").stdout
    assert on.features() == before
    on("restore", moved)  # who began it: moved, and nothing to say
    on("resume", moved)
    assert on.features() == before


MTU = """\
experiment: mtu
settings:
  - roles: [sender, receiver]
    mtu: 1400
measure:
  netperf: {seconds: 30, send_size: 1024}
repeat: {replicates: 1, order: blocked, seed: 3}
"""


def test_what_an_mtu_resets_is_in_every_folder_and_no_reason_to_refuse_it(
    on, tmp_path, monkeypatch
):
    """Each has addr_gen_mode and forwarding among what was found."""
    hosts = ("--hosts", str(on.lab.hosts_file))

    def mtus() -> set[str]:
        where = "/sys/class/net/data0/mtu"
        return {on.inside(host, "cat", where).strip() for host in on.lab.hosts}

    before = mtus()
    assert before != {"1400"}
    process = on.start("run", on.experiment(MTU), *hosts, "--out", "out")
    wait(lambda: mtus() == {"1400"} or process.poll() is not None, "the MTU is changed")
    process.kill()
    process.communicate()
    assert mtus() == {"1400"}
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody-else"))
    done = on("restore", "out", *hosts, "--yes")
    assert "to restore: sender: ip link set dev data0 mtu" in done.stderr
    assert "addr_gen_mode" not in done.stderr
    assert "restored: receiver: data0: mtu" in done.stdout
    assert mtus() == before
