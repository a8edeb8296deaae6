"""Bursts: the ACK mail's figures come out of its traces, and the rule holds on any trace."""

import pairs
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.analysis.bursts import (
    ack_bursts,
    burst_sizes,
    bursts,
    first_of_transactions,
    over_transactions,
    roles,
    trace,
)
from netlimits.errors import DataError
from netlimits.reproduce import published

SIZES = {
    "rr-trace-deferred-acks": {1: [3, 2, 3, 4], 2: [7, 5], 3: [8, 4], 4: [9, 3]},
    "rr-trace-ack-every-other": {2: [6, 3, 1, 2], 3: [9, 3]},
}
ACKS = {
    "rr-trace-deferred-acks": {1: [1, 1, 1, 1], 2: [1, 1], 3: [1], 4: [1]},
    "rr-trace-ack-every-other": {2: [1, 1, 2, 1], 3: [2, 3]},
}


def mail(name: str) -> tuple[pd.DataFrame, int]:
    return trace(published.path(name)), min(SIZES[name])


@pytest.mark.parametrize("name", SIZES)
def test_bursts_of_the_mail(name):
    packets, first = mail(name)
    table = bursts(packets, first_transaction=first)
    assert table.groupby("transaction")["segments"].apply(list).to_dict() == SIZES[name]
    assert (table.groupby("transaction")["bytes"].sum() == 16384).all()
    assert (table["seq_end"] - table["seq_start"] == table["bytes"]).all()
    acks = ack_bursts(packets, first_transaction=first)
    assert acks.groupby("transaction")["acks"].apply(list).to_dict() == ACKS[name]


@pytest.mark.parametrize("name", SIZES)
def test_stated_bursts_come_out(name):
    packets, first = mail(name)
    stated = published.statements()["value"]
    short = name.removeprefix("rr-trace-").replace("deferred-acks", "deferred").removeprefix("ack-")
    starts = first_of_transactions(bursts(packets, first_transaction=first))
    starts = starts.set_index("transaction")["segments"]
    compared = [t for t in starts.index if f"acks-burst-{short}-{t}" in stated]
    assert compared == [t for t in starts.index if t > 1]
    assert all(starts[t] == stated[f"acks-burst-{short}-{t}"] for t in compared)
    acks = ack_bursts(packets, first_transaction=first).groupby("transaction")["acks"].max()
    for transaction in acks.index:
        key = f"acks-ack-burst-{short}-{transaction}"
        assert key not in stated or acks[transaction] == stated[key]


def test_acked_bytes_are_counted_once():
    packets, _ = mail("rr-trace-ack-every-other")
    acks = ack_bursts(packets)
    # The last ACK of transaction 2 is the next request's; 28065 - 22225 in the burst of two.
    assert acks["acked_bytes"].tolist() == [2920, 2920, 5840, 2920, 5840, 8760]


def test_roles_with_and_without_a_handshake():
    for name in SIZES:
        row = roles(mail(name)[0]).iloc[0]
        assert row["requester"].startswith("192.168.1.213 ")
        assert row["sender"].startswith("192.168.1.212 ")


def test_capture_of_a_request_response_test():
    table = bursts(trace(pairs.path("traces", "rr-ipv4")))
    assert set(table["source"]) == {"192.0.2.2"}
    assert (table.groupby("transaction")["bytes"].sum() == 16384).all()
    assert table["transaction"].nunique() == 6
    assert first_of_transactions(table)["segments"].tolist() == [5, 11, 12, 12, 12, 12]
    text = bursts(trace(pairs.path("traces", "rr-ipv6-ttt")))
    capture = bursts(trace(pairs.path("traces", "rr-ipv6")))
    pd.testing.assert_frame_equal(
        text.drop(columns=["start_s", "end_s"]), capture.drop(columns=["start_s", "end_s"])
    )


def test_segmentation_offload_hides_segments_that_mss_brings_back():
    whole = bursts(trace(pairs.path("traces", "rr-tso")))
    cut = bursts(trace(pairs.path("traces", "rr-tso"), mss=1448))
    assert whole["bytes"].tolist() == cut["bytes"].tolist()
    assert whole["segments"].max() < cut["segments"].max() == 12


def test_sizes_add_up():
    packets, _ = mail("rr-trace-deferred-acks")
    table = bursts(packets)
    sizes = burst_sizes(table)
    assert sizes["size"].tolist() == [2, 3, 4, 5, 7, 8, 9]
    assert sizes["bursts"].tolist() == [1, 3, 2, 1, 1, 1, 1]
    assert (sizes["size"] * sizes["bursts"]).sum() == table["segments"].sum()
    assert sizes["cumulative_pct"].iloc[-1] == pytest.approx(100)
    assert burst_sizes(ack_bursts(packets))["bursts"].tolist() == [8]


def test_a_trace_without_data_says_so():
    line = "000001 1.1.1.1.1 > 2.2.2.2.2: S 1870881128:1870881128(0) win 32768 (DF)"
    packets = trace(f"{line}\n")
    with pytest.raises(DataError, match="no data segments"):
        bursts(packets)
    with pytest.raises(DataError, match="no bursts to count"):
        burst_sizes(ack_bursts(packets))


@pytest.mark.long
@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=5), min_size=1, max_size=6))
def test_what_is_built_is_found(shape):
    """Requests, bursts and the ACKs between them, written as a trace, come back as they were."""
    lines, request, sent = [], 1, 1

    def say(way: str, seq: int, size: int, ack: int) -> None:
        numbers = f"seq {seq}:{seq + size}, " if size else ""
        lines.append(
            f" 00:00:00.00000{len(lines) % 2 + 1} IP {way}: Flags [.], {numbers}ack {ack}, win 1, "
            f"length {size}"
        )

    for transaction in shape:
        say("10.0.0.1.1 > 10.0.0.2.2", request, 100, sent)
        request += 100
        for index, segments in enumerate(transaction):
            if index:
                say("10.0.0.1.1 > 10.0.0.2.2", request, 0, sent)
            for _ in range(segments):
                say("10.0.0.2.2 > 10.0.0.1.1", sent, 1000, request)
                sent += 1000
    table = bursts(trace("\n".join(lines) + "\n"))
    sizes = table.groupby("transaction")["segments"].apply(list).tolist()
    assert sizes == shape
    acks = ack_bursts(trace("\n".join(lines) + "\n"))
    assert acks["acks"].sum() == sum(len(t) - 1 for t in shape)


def test_first_bursts_over_the_runs_of_each_series():
    """The mail's two traces as runs of two ways to acknowledge; the last transaction is cut off."""
    deferred, every_other = (trace(published.path(name)) for name in SIZES)
    packets = pd.concat(
        [
            deferred.assign(run=1, acks="deferred"),
            deferred.assign(run=2, acks="deferred"),
            every_other.assign(run=3, acks="every other"),
        ]
    )
    table = over_transactions(packets, "acks")
    mine = table[table["acks"] == "deferred"]
    assert mine["transaction"].tolist() == [1, 2, 3]
    assert mine["median"].tolist() == [3, 7, 8]
    assert mine["runs"].tolist() == [2, 2, 2]
    other = table[table["acks"] == "every other"]
    assert other[["min", "max", "runs"]].to_numpy().tolist() == [[6, 6, 1]]
    both = over_transactions(packets)
    assert both[["transaction", "min", "median", "max"]].iloc[0].tolist() == [1, 3, 3, 6]
    assert over_transactions(deferred)["median"].tolist() == [3, 7, 8]
    with pytest.raises(DataError, match="no factor 'gro'"):
        over_transactions(packets, "gro")
    first = deferred[deferred["time_s"] < 0.0005]
    with pytest.raises(DataError, match="no complete transaction; capture more packets"):
        over_transactions(first)
