"""A mesh's hosts and links, against what was put into them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from netlimits.analysis import mesh
from netlimits.errors import DataError
from netlimits.experiment.mesh.pairs import mesh as shape

COUNT, BLOCKS = 12, 6


def runs(seed: int = 1, slow_receiver: str = "", slow_link: tuple[str, str] | None = None):
    chance = np.random.default_rng(seed)
    rows = []
    for block in range(1, BLOCKS + 1):
        drift = chance.normal(0, 0.2)
        for sender, receiver in shape({"hosts": COUNT}).pairs:
            log = 7 + drift + chance.normal(0, 0.03)
            log += np.log(0.7) * (receiver == slow_receiver)
            log += np.log(0.6) * ((sender, receiver) == slow_link)
            rows.append((sender, receiver, block, np.exp(log)))
    return pd.DataFrame(rows, columns=["sender", "receiver", "block", "throughput_mbps"])


def test_alike_hosts_have_no_outlier_and_drift_is_none():
    frame = runs()
    assert mesh.outliers(frame, "throughput") == []
    assert mesh.links(frame, "throughput")["ratio"].between(0.9, 1.1).all()


def test_a_slow_host_is_named_at_its_end_and_not_its_links():
    frame = runs(slow_receiver="hosts-3")
    (named,) = mesh.outliers(frame, "throughput")
    assert named.startswith("hosts-3 as receiver −")
    table = mesh.hosts(frame, "throughput").set_index(["host", "end"])
    assert table.loc[("hosts-3", "receiver"), "ratio"] == pytest.approx(0.7, abs=0.03)
    assert table.loc[("hosts-3", "sender"), "ratio"] == pytest.approx(1, abs=0.05)


def test_a_slow_link_is_named_and_not_its_hosts():
    frame = runs(slow_link=("hosts-1", "hosts-2"))
    (named,) = mesh.outliers(frame, "throughput")
    assert named.startswith("hosts-1 → hosts-2 −")


def test_fewer_than_six_blocks_name_nothing():
    frame = runs(slow_receiver="hosts-3", slow_link=("hosts-1", "hosts-2"))
    assert mesh.outliers(frame, "throughput")
    few = frame[frame["block"] < BLOCKS]
    assert mesh.outliers(few, "throughput") == []
    assert mesh.too_few(few, "throughput")
    assert not mesh.too_few(frame, "throughput")
    assert (mesh.links(few, "throughput")["p"] == 1).all()


@pytest.mark.long
def test_a_host_that_is_noisier_than_others_is_no_outlier():
    """The median deviation is the quiet hosts': by it a noisy one's links stood out in most meshes."""
    chance = np.random.default_rng(3)
    for _ in range(2):
        frame = runs(int(chance.integers(1000)))
        noisy = (frame["sender"] == "hosts-1") | (frame["receiver"] == "hosts-1")
        noise = np.exp(0.25 * chance.normal(size=len(frame)))
        frame.loc[noisy, "throughput_mbps"] *= noise[noisy]
        assert mesh.outliers(frame, "throughput") == []
        odd = np.where(chance.random(len(frame)) < 0.2, 0.7, 1.0)
        contaminated = runs(int(chance.integers(1000)))
        contaminated["throughput_mbps"] *= odd
        assert mesh.outliers(contaminated, "throughput") == []


def test_a_run_that_is_slow_once_is_no_link():
    frame = runs()
    frame.loc[0, "throughput_mbps"] /= 3
    assert mesh.outliers(frame, "throughput") == []


def test_hosts_stand_as_they_are_numbered():
    table = mesh.hosts(runs(), "throughput")
    assert list(table["host"][:3]) == ["hosts-1", "hosts-2", "hosts-3"]
    assert list(table["host"][COUNT - 1 : COUNT + 1]) == ["hosts-12", "hosts-1"]
    assert list(table["end"].unique()) == ["sender", "receiver"]


def test_a_factor_is_pooled_where_it_is_meant():
    both = pd.concat([runs().assign(size=1024), runs(2).assign(size=4096)], ignore_index=True)
    both.loc[both["size"] == 4096, "throughput_mbps"] *= 5
    with pytest.raises(DataError, match="size"):
        mesh.links(both, "throughput")
    table = mesh.links(both, "throughput", pool="size")
    assert (table["runs"] == 2 * BLOCKS).all()
    assert table["ratio"].between(0.9, 1.1).all()


def test_what_is_no_mesh_is_refused():
    with pytest.raises(DataError, match="no column sender"):
        mesh.links(runs().drop(columns="sender"), "throughput")
    with pytest.raises(DataError, match="above zero"):
        mesh.links(runs().assign(throughput_mbps=0.0), "throughput")
