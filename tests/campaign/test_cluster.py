"""A scheduler that cannot be had is one line."""

from __future__ import annotations

import sys

import pytest

from netlimits.campaign import cluster
from netlimits.errors import InputError


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'netlimits\[dask\]'"):
        cluster.client("tcp://127.0.0.1:8786")


def test_an_address_that_is_none_is_named():
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="--scheduler nowhere://here"):
        cluster.client("nowhere://here")
