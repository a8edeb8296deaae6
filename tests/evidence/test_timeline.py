"""Samples of both ends on one clock: rates between samples, the clocks' offset, the first data."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netlimits.evidence import sample
from netlimits.evidence.clocks import Offset
from netlimits.evidence.sample.series import series
from netlimits.evidence.sample.timeline import on_one_clock, throughput_changes
from netlimits.model import Completed

BEGAN, STEP = 1_795_300_000.0, 0.2
CLIENT, SERVER = "192.0.2.1:40000", "192.0.2.2:41000"


def ticks(busy: int) -> str:
    return f"0:{busy},0,0,{20 - busy}"


def host(
    role: str,
    counts: list[float],
    *,
    fields: str = "cwnd:10 ssthresh:7 rtt:1.5/0.2 busy:{busy}ms",
    ahead: float = 0.0,
    late: float = 0.0,
    rtt: float = 0.0,
) -> Completed:
    """A host's samples, every STEP from BEGAN on; `counts` are Mbit carried by each.

    `ahead` is the host's clock, `late` how much later its samples are.
    """
    lines = ["namespace net:[1]"]
    sender = role == "sender"
    for place, mbit in enumerate(counts):
        at = BEGAN + place * STEP + late + ahead
        carried = int(mbit * 125_000)
        lines += [
            f"look {at:.9f}",
            f"cpus {at - BEGAN + 5:.6f} {int(carried * 1.05)} 0 {ticks(10 if place else 500)}",
            f"queue {place} {place * 1000} {place * 2} 0 {place * 3}",
        ]
        if carried:
            kind = f"bytes_sent:{carried} bytes_retrans:0 bytes_acked:{carried}"
            if not sender:
                kind = f"bytes_received:{carried}"
            ends = f"{CLIENT} {SERVER}" if sender else f"{SERVER} {CLIENT}"
            more = fields.format(busy=place * 100) if sender else "rcv_space:9000"
            lines.append(
                f"tcp ESTAB 0 0 {ends} skmem:(r0,rb1000,t0,tb2000,f0,w0,o0,bl0,d0) {kind} {more}"
            )
    command = sample.command("netperf", ["192.0.2.2"], 12865, seconds=2, deadline=17)
    return Completed(role, command, 0, "\n".join(lines) + "\n", "", 3.0)


def carried(rates: list[float], late: float = 0.0) -> list[float]:
    """Mbit by each sample of a transfer at these rates, one an interval; samples `late` s later."""
    sums = [0.0]
    for rate in rates:
        sums.append(sums[-1] + rate * STEP)
    ahead = [late * rate for rate in (*rates, 0.0)]
    return [0.0, *(total + more for total, more in zip(sums, ahead, strict=True))]


def test_rates_are_differences_of_neighbouring_samples():
    first, second, *_ = series(host("receiver", [0, 0, 20, 24]))[1:]
    assert first["throughput_mbps"] == pytest.approx(100)
    assert second["throughput_mbps"] == pytest.approx(20)
    assert second["interface_mbps"] == pytest.approx(21)
    assert second["cpu_pct"] == pytest.approx(50)
    assert second["cpu_user_pct"] == pytest.approx(50)
    assert (second["qdisc_packets"], second["qdisc_drops"], second["qdisc_overlimits"]) == (3, 2, 3)


def test_a_sender_has_windows_times_and_what_limited_it():
    row = series(host("sender", [0, 2, 4]))[-1]
    assert row["cwnd_segs"] == 10
    assert row["ssthresh_segs"] == 7
    assert row["rtt_us"] == 1500
    assert row["busy_pct"] == pytest.approx(50)
    assert row["sent_mbps"] == pytest.approx(10)
    assert "throughput_mbps" not in row


def test_a_sample_that_follows_at_once_begins_no_interval():
    lines = host("receiver", [0, 20, 40]).stdout.replace(f"look {BEGAN + 2 * STEP:.9f}", "LAST")
    again = lines.replace("LAST", f"look {BEGAN + STEP + 0.0003:.9f}")
    both = replace(host("receiver", []), stdout=again)
    (row,) = series(both)
    assert row["throughput_mbps"] == pytest.approx(100)


def test_what_a_connection_carried_that_ended_is_unknown():
    rows = series(host("receiver", [0, 20, 40, 0]))
    assert "throughput_mbps" in rows[1]
    assert "throughput_mbps" not in rows[2]


def test_times_of_both_ends_are_on_one_clock():
    """The receiver's clock is half a minute ahead, and its samples are 70 ms later."""
    rates = [10.0, 30.0, 50.0, 40.0, 30.0, 60.0, 50.0, 40.0, 45.0]
    samples = [
        ("local", "sender", host("sender", carried(rates))),
        ("remote", "receiver", host("receiver", carried(rates, 0.07), ahead=30.0, late=0.07)),
    ]
    of = on_one_clock(samples, {})
    assert of
    assert of.offsets["receiver"].offset_s == pytest.approx(30.0, abs=0.02)
    assert abs(of.offsets["receiver"].offset_s - 30.0) <= of.error_s < 0.1
    near, far = (host.rows for host in of.hosts)
    assert near[0]["time_s"] == pytest.approx(0.0)
    assert far[0]["time_s"] == pytest.approx(0.07, abs=0.02)


def test_a_more_precise_offset_is_taken():
    rates = [10.0] * 2  # too few for an offset from the bytes
    samples = [
        ("local", "sender", host("sender", carried(rates))),
        ("remote", "receiver", host("receiver", carried(rates), ahead=30.0)),
    ]
    known = {"sender": Offset(-3.0, 1e-6), "receiver": Offset(27.0, 1e-6)}
    of = on_one_clock(samples, known)
    assert of
    assert of.error_s == pytest.approx(2e-6)
    same = on_one_clock(samples[:1], {}, one_kernel=True)
    assert same
    assert same.error_s == 0


def test_a_change_of_what_arrives_is_at_its_second():
    rates = [20.0, 21.0] * 8 + [9.0, 10.0] * 8
    samples = [
        ("local", "sender", host("sender", carried(rates))),
        ("remote", "receiver", host("receiver", carried(rates))),
    ]
    of = on_one_clock(samples, {}, one_kernel=True)
    assert of
    (change,) = throughput_changes(of)
    assert change.at == pytest.approx(16 * STEP, abs=0.01)
    assert change.ratio == pytest.approx(9.5 / 20.5, rel=0.1)
