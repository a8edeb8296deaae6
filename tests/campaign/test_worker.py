"""What a worker hears of Ctrl-C: before it waits, and never after it took what came."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from recorded import recorded

from netlimits.archive.store import Archive
from netlimits.campaign.interrupt import Interrupted
from netlimits.campaign.mesh import shards, worker
from netlimits.campaign.mesh.worker import StopFile
from netlimits.errors import ArchiveInUse, InputError


def test_an_end_that_is_asked_for_meanwhile_does_not_lose_what_came(tmp_path):
    (tmp_path / shards.FOLDER).mkdir()
    stop, came_in = StopFile(SimpleNamespace(path=tmp_path)), []
    with stop.interruptible():
        (tmp_path / shards.FOLDER / shards.STOP).touch()
        came_in.append("a run is over")
    assert came_in
    with pytest.raises(Interrupted), stop.interruptible():
        came_in.append("never")
    assert len(came_in) == 1


class Full:
    """A place that takes nothing."""

    def add(self, name: str, campaign: object, shard: Archive) -> None:
        raise InputError(f"bucket://b: cannot be written: {name} of {shard.path}")


def test_a_place_that_takes_nothing_does_not_end_a_shard(tmp_path):
    archive = recorded(tmp_path / "out").archive
    archive.lock()
    archive.close()
    order = SimpleNamespace(share=None, session="77", shard=SimpleNamespace(name="mesh-1"))
    assert worker._share(None, archive, order) == ""
    order.share = Full()
    problem = worker._share(None, archive, order)
    assert problem == f"bucket://b: cannot be written: mesh-1-77 of {archive.path}"


def test_a_shard_is_let_go_of_once_its_runs_are_left(tmp_path, monkeypatch):
    """Who waits for its journal may write all runs in the place of its file then."""
    archive = recorded(tmp_path / "out").archive
    (tmp_path / shards.FOLDER).mkdir()
    campaign = SimpleNamespace(archive=SimpleNamespace(path=tmp_path))

    def left(*_: object) -> str:
        with pytest.raises(ArchiveInUse):
            Archive.open(archive.path).lock()
        return "full"

    for name, stand_in in (
        ("_campaign", lambda _: campaign),
        ("_archive", lambda *_: archive),
        ("_work", lambda *_: worker.ShardOutcome()),
        ("_share", left),
    ):
        monkeypatch.setattr(worker, name, stand_in)
    order = SimpleNamespace(shard=SimpleNamespace(name="mesh-1"), guard=None)
    assert worker.carry_out(order).unshared == "full"
    archive.lock()
    archive.close()
