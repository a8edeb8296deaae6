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
    hosts = ("--hosts", str(on.made.hosts_file))
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
            said = on(command[0], moved, *command[1:], status=2).stderr
            assert "it was not begun here by you" in said
            assert f"netlimits {command[0]} {moved} --hosts FILE" in said
        said = on("restore", moved, *hosts, status=2).stderr
        assert "to put back: sender: ethtool -K data0" in said
        assert "say --yes" in said
        assert on.features() == changed
        assert "put back: sender: data0: offload" in on("restore", moved, *hosts, "--yes").stdout
    assert on.features() == before
    on("restore", moved)  # who began it: moved, and nothing to say
    on("resume", moved)
    assert on.features() == before
