"""Bulk streams beside transactions: the script, what it tells, and what must not count."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest
from waiting import LONG

from netlimits.campaign import parallel, under_load
from netlimits.campaign.under_load import Begin
from netlimits.errors import ToolFailure
from netlimits.evidence.sample.snapshots import Connection, Snapshot
from netlimits.model import Bulk, Command, Completed, Flow, Measurement, Work

LOAD = Bulk(2, lead=1, tail=1)


def shell(seconds: float, words: str) -> Command:
    return Command(("sh", "-c", f"sleep {seconds}; echo {words}"), deadline=LONG)


@pytest.fixture
def over(tmp_path: Path) -> Path:
    """The file that the transactions make at their end."""
    return tmp_path / "over"


def outliving(over: Path, words: str) -> Command:
    """A stream that ends two seconds after the transactions."""
    script = f"until [ -e {over} ]; do sleep 0.05; done; sleep 2; echo {words}"
    return Command(("sh", "-c", script), deadline=LONG)


def ran(command: Command) -> Completed:
    done = subprocess.run(command.argv, capture_output=True, text=True, timeout=LONG)
    return Completed("sender", command, done.returncode, done.stdout, done.stderr, 1.0)


def test_the_transactions_run_in_the_midst_of_the_streams_and_are_printed_first(
    over: Path,
) -> None:
    streams = [outliving(over, "one"), outliving(over, "two")]
    transactions = shell(0.3, f"rr; touch {over}")
    completed = ran(under_load.with_transactions(streams, transactions, LOAD))
    assert [part.stdout for part in parallel.split(completed, 3)] == ["rr\n", "one\n", "two\n"]
    when = under_load.times(completed, LOAD, 2)
    assert when.outlived == 2
    assert when.ended - when.began >= 1.3


def test_transactions_that_a_stream_did_not_outlive_do_not_count(over: Path) -> None:
    streams = [outliving(over, "one"), shell(0, "two")]
    transactions = shell(1, f"rr; touch {over}")
    completed = ran(under_load.with_transactions(streams, transactions, LOAD))
    with pytest.raises(ToolFailure, match=r"1 of 2 bulk streams had ended.*raise `bulk\.tail`"):
        under_load.times(completed, LOAD, 2)
    with pytest.raises(ToolFailure, match="cut short"):
        under_load.times(Completed("sender", script(), 0, "", "", 1.0), LOAD, 2)


def script() -> Command:
    return Command(("sh",), deadline=1)


def rr(seconds: float, arrived: float = 1000.0) -> Measurement:
    work = Work(1000, (Flow("local", arrived, arrived),), transactions=True)
    return Measurement({"elapsed_s": seconds}, work=work)


def looks(rates: dict[str, float], start: float = 100.0, count: int = 21) -> list[Snapshot]:
    """A look each half a second, at connections that receive at these rates in Mbit/s.

    A look before shows none.
    """
    return [
        Snapshot(start - 0.5, ()),
        *(
            Snapshot(
                start + n / 2,
                tuple(
                    Connection(
                        "r:1", f"s:{name}", {"bytes_received": (rate > 0) + rate * 1e6 / 8 * n / 2}
                    )
                    for name, rate in rates.items()
                ),
            )
            for n in range(count)
        ),
    ]


def quickening() -> list[Snapshot]:
    """Two streams that receive 10 Mbit/s each for 3 s, and 50 from then on."""
    fast = []
    for n in range(1, 15):
        received = 1 + 10e6 / 8 * 3 + 50e6 / 8 * n / 2
        each = tuple(Connection("r:1", f"s:{p}", {"bytes_received": received}) for p in "ab")
        fast.append(Snapshot(103.0 + n / 2, each))
    return looks({"a": 10.0, "b": 10.0}, count=7) + fast


def test_what_the_busiest_carried_meanwhile_is_told_and_the_transactions_bytes_are_not() -> None:
    seen = {"remote": looks({"a": 40.0, "rr": 0.01, "b": 20.0})}
    figures = under_load.figures(LOAD, seen, under_load.Times(0.0, 8.0, 2), rr(5.0), ipv6=False)
    assert figures == {"bulk_send_throughput_mbps": pytest.approx(60.0)}


def test_only_the_seconds_of_the_transactions_count() -> None:
    """The streams fill the path only while the transactions run, from 3 to 5 seconds on."""
    figures = under_load.figures(
        LOAD, {"remote": quickening()}, under_load.Times(7.0, 12.25, 2), rr(2.0), ipv6=False
    )
    assert figures["bulk_send_throughput_mbps"] == pytest.approx(100.0)


def test_each_way_is_told_at_the_end_that_receives() -> None:
    both = Bulk(1, "both")
    seen = {"remote": looks({"a": 30.0}), "local": looks({"b": 50.0})}
    when = under_load.Times(100.0, 108.0, 2)
    figures = under_load.figures(both, seen, when, rr(5.0), ipv6=False)
    assert figures["bulk_send_throughput_mbps"] == pytest.approx(30.0)
    assert figures["bulk_recv_throughput_mbps"] == pytest.approx(50.0)
    assert dict(under_load.arrived(both, figures)) == {
        "local": pytest.approx(30.0), "remote": pytest.approx(50.0),
    }  # fmt: skip
    assert not list(under_load.arrived(None, {}))


def sending(first: float, clock: float = 500.0) -> list[Snapshot]:
    """What the client's host sees each half a second: both streams' data from `first` on."""
    return [
        Snapshot(
            clock + n / 2,
            tuple(
                Connection(
                    f"s:{name}", "r:1", {"bytes_sent": size} if size else {}
                )
                for name, size in (
                    ("rr", 1.0 + n), ("a", 1e6 * (n / 2 >= first) * n), ("b", 1e6 * (n / 2 >= first) * n)
                )
            ),
        )
        for n in range(21)
    ]  # fmt: skip


def test_transactions_that_began_before_the_streams_data_do_not_count() -> None:
    """The transactions run from 502 to 507, and the streams carry nothing before 504."""
    when = under_load.Times(500.0, 507.0, 2)
    seen = {"remote": looks({"a": 30.0, "b": 30.0}), "local": sending(first=4.0)}
    with pytest.raises(ToolFailure, match=r"began, nor 1\.5 s later: raise `bulk\.lead`") as caught:
        under_load.figures(LOAD, seen, when, rr(5.0), ipv6=False)
    assert caught.value.status == "invalid"
    seen["local"] = sending(first=2.5)
    assert under_load.figures(LOAD, seen, when, rr(5.0), ipv6=False), "within one look"


def test_looks_that_miss_the_transactions_tell_nothing_of_their_seconds() -> None:
    """The streams are seen from 503 on, and the transactions were over at 503.5."""
    remote = [Snapshot(500.0, ()), *looks({"a": 30.0, "b": 30.0}, 503.0)[1:]]
    seen = {"remote": remote, "local": sending(first=1.0)}
    with pytest.raises(ToolFailure, match="remote host was too busy to be sampled") as caught:
        under_load.figures(LOAD, seen, under_load.Times(500.0, 503.5, 2), rr(2.0), ipv6=False)
    assert caught.value.status == "invalid"


def test_both_hosts_clocks_are_aligned_by_the_streams_first_data() -> None:
    """At the receiver the streams are slow for 3 s from the first data on, which left at 501."""
    seen = {"remote": quickening(), "local": sending(first=1.0)}
    for ended, rate in ((503.0, 20.0), (504.0, 20.0), (506.0, 100.0)):
        when = under_load.Times(500.0, ended, 2)
        figures = under_load.figures(LOAD, seen, when, rr(2.0), ipv6=False)
        assert figures["bulk_send_throughput_mbps"] == pytest.approx(rate)


def test_transactions_that_carry_as_much_as_a_stream_are_not_told_from_it() -> None:
    seen = {"remote": looks({"a": 40.0, "rr": 30.0, "b": 20.0})}
    with pytest.raises(ToolFailure, match=r"as much to the remote host.*smaller requests"):
        under_load.figures(LOAD, seen, under_load.Times(0.0, 8.0, 2), rr(5.0, 37.5e6), ipv6=False)


@pytest.mark.parametrize("rates", [{"a": 9}, {}, {"a": 0, "b": 0}])
def test_a_stream_that_carried_nothing_is_no_load(rates: dict[str, float]) -> None:
    with pytest.raises(ToolFailure, match="remote host did not see 2 bulk streams"):
        under_load.figures(
            LOAD, {"remote": looks(rates)}, under_load.Times(0, 8, 2), rr(5.0), ipv6=False
        )


def test_a_figure_that_is_missing_is_not_0() -> None:
    without = Measurement({"elapsed_s": None}, work=rr(5.0).work)
    with pytest.raises(ToolFailure, match="no elapsed_s"):
        under_load.figures(
            LOAD,
            {"remote": looks({"a": 9, "b": 9})},
            under_load.Times(0, 8, 2),
            without,
            ipv6=False,
        )
    with pytest.raises(ToolFailure, match="no bulk_send_throughput_mbps"):
        dict(under_load.arrived(LOAD, {}))


def sent_by_then(at: float, **sent: float) -> Snapshot:
    return Snapshot(at, tuple(Connection("s:1", p, {"bytes_sent": n} if n else {}) for p, n in sent.items()))  # fmt: skip


SEEN = [
    sent_by_then(10, rr=1),
    sent_by_then(11, rr=2, a=0),
    sent_by_then(12, rr=3, a=9e6),
    sent_by_then(13, rr=4, a=2e7, b=1e7),
]


def test_streams_have_begun_when_the_last_of_them_carries_data() -> None:
    assert under_load.first_data(SEEN, 2, sent=True) == Begin(12, 13)
    assert under_load.first_data(SEEN, 1, sent=True) == Begin(11, 12)
    assert under_load.first_data(SEEN[-1:], 2, sent=True) == Begin(-math.inf, 13)
    assert under_load.first_data(SEEN[-1:], 2, sent=True).since(5) == Begin(5, 13)


def test_what_looks_do_not_show_is_not_told() -> None:
    unknown = Begin(-math.inf, math.inf)
    assert under_load.first_data((), 1, sent=True) == unknown
    assert under_load.first_data(SEEN, 4, sent=True) == unknown
    assert under_load.first_data(SEEN, 1, sent=False) == unknown, "they sent and received nothing"
    assert unknown.since(7) == Begin(7, 7)
    assert unknown.ahead_of(Begin(1, 2)) == Begin(1, 2).ahead_of(unknown) == 0


@pytest.mark.parametrize(
    ("peer", "own", "ahead"),
    [
        (Begin(10.2, 10.4), Begin(10.0, 10.3), 0.0),  # one clock
        (Begin(10.2, 10.4), Begin(6.2, 6.4), 4.0),
        (Begin(6.2, 6.4), Begin(10.2, 10.4), -4.0),
        (Begin(-math.inf, 7.0), Begin(10.0, 11.0), -3.0),  # the receiver's first look shows data
        (Begin(13.0, 14.0), Begin(-math.inf, 11.0), 2.0),
    ],
)
def test_clocks_are_apart_as_far_as_the_looks_require(
    peer: Begin, own: Begin, ahead: float
) -> None:
    assert peer.ahead_of(own) == pytest.approx(ahead)
