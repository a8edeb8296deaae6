"""What a worker hears of Ctrl-C: before it waits, and never after it took what came."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from recorded import recorded

from netlimits.campaign import shard_work, shards
from netlimits.campaign.interrupt import Interrupted
from netlimits.campaign.shard_work import StopFile
from netlimits.errors import InputError


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

    def add(self, name: str, campaign: object, records: list) -> None:
        raise InputError(f"bucket://b: cannot be written: {name}, {len(records)} attempts")


def test_a_place_that_takes_nothing_does_not_end_a_shard(tmp_path):
    archive = recorded(tmp_path / "out").archive
    archive.lock()
    archive.close()
    order = SimpleNamespace(share=None, session="77", shard=SimpleNamespace(name="mesh-1"))
    assert shard_work._left(None, archive, order) == ""
    order.share = Full()
    told = shard_work._left(None, archive, order)
    assert told.startswith("bucket://b: cannot be written: mesh-1-77, ")
    assert not told.endswith(" 0 attempts")
