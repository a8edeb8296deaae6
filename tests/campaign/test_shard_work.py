"""What a worker hears of Ctrl-C: before it waits, and never after it took what came."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from netlimits.campaign import shards
from netlimits.campaign.interrupt import Interrupted
from netlimits.campaign.shard_work import StopFile


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
