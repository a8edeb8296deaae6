"""A campaign's folder as a run would leave it, for tests of what is read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from netlimits import campaign, published
from netlimits.archive import Archive, end_fields, raw_entry
from netlimits.campaign import Campaign
from netlimits.model import Command, Completed, Record

EXPERIMENT = """\
experiment: recorded
roles: [source, sinks: 2]
factors: {mtu: [1500, 8896]}
measure: {netperf: {test: TCP_STREAM, seconds: 4, interim_seconds: -1, send_size: "${mtu}"}}
repeat: {replicates: 2, order: listed}
"""
META = {"machines": {}, "overrides": [], "seed": 1, "shared_kernel": True}
TRACES = {
    role: published.path(f"rr-trace-{name}").read_text(encoding="utf-8")
    for role, name in (("sinks-1", "deferred-acks"), ("sinks-2", "ack-every-other"))
}


def interim(streams: int, rates: Sequence[float], skew: float = 0.01) -> list[dict[str, float]]:
    """Interim results of `streams` streams, a second each, one starting `skew` s after another."""
    return [
        {
            "stream": stream,
            "ending_s": 1e9 + stream * skew + second,
            "interval_s": 1.0,
            "throughput_mbps": rate,
        }
        for stream in range(1, streams + 1)
        for second, rate in enumerate(rates, 1)
    ]


def recorded(
    path: Path,
    failed: Sequence[int] = (),
    traced: Sequence[str] = ("sinks-1",),
    rates: Mapping[int, Sequence[float]] | None = None,
    mss: int = 1460,
) -> Campaign:
    """Four runs of two streams at two MTUs; run n at 100 × n Mbit/s a stream, unless told."""
    archive = Archive.create(path, META, EXPERIMENT, {}, lambda file: file.write("run\n"))
    archive.lock()
    made = campaign.open(path)
    for number, run in made.runs.items():
        ok = number not in failed
        rows = interim(2, (rates or {}).get(number, [100.0 * number] * 4))
        figures = {
            "throughput_mbps": 200.0 * number,
            "transport_mss_bytes": mss,
            "streams": 2,
            "start_skew_s": 0.01,
        }
        record = Record(
            run=run,
            attempt=1,
            status="ok" if ok else "failed",
            reason="" if ok else "it failed",
            started=1e9,
            duration_s=4,
            figures=figures if ok else {},
            interim=tuple(rows) if ok else (),
        )
        archive.append("start", run=number, attempt=1, started=1e9)
        raw = [
            raw_entry(Completed(role, Command(argv), 0, text, "", 1.0), "trace")
            for role in traced
            for argv, text in (
                (("cat", "/proc/net/packet"), "sk\n"),
                (("timeout", "-s", "INT", "7", "tcpdump", "-i", "data0"), TRACES[role]),
                (("cat", "/proc/net/packet"), "sk\n"),
            )
        ]
        archive.write_raw(number, 1, raw)
        archive.append("end", **end_fields(record))
    archive.close()
    return made
