"""A scheduler that cannot be had is one line."""

from __future__ import annotations

import sys

import distributed
import pytest

from netlimits.campaign.mesh import cluster
from netlimits.campaign.mesh.worker import ShardOutcome
from netlimits.errors import InputError


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'netlimits\[dask\]'"):
        cluster.client("tcp://127.0.0.1:8786")


def test_an_address_that_is_none_is_named():
    with pytest.raises(InputError, match="--scheduler nowhere://here"):
        cluster.client("nowhere://here")


class Task:
    """One that is over, and what comes of asking for its result."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def result(self) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_an_answer_that_went_with_its_scheduler_is_none_and_no_mistake_of_ours():
    closed = distributed.comm.CommClosedError("in <TCP (closed)>: Stream is closed")
    lost = distributed.client.FutureCancelledError("shard-1", "scheduler-restart")
    for error in (closed, lost, TimeoutError()):
        assert cluster._answer(Task(error)) is None
    outcome = ShardOutcome({"hosts-1": "it is gone"})
    assert cluster._answer(Task(outcome)) is outcome
    with pytest.raises(KeyError):
        cluster._answer(Task(KeyError("a mistake of ours")))
