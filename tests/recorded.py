"""Write a campaign's folder as a run would, for tests that read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from netlimits.archive import reader, registry
from netlimits.archive.journal import Head
from netlimits.archive.raw import RawEntry
from netlimits.archive.reader import Campaign
from netlimits.archive.records import end_fields, run_fields
from netlimits.archive.store import Archive
from netlimits.cli.shared import logins
from netlimits.experiment import load, plan
from netlimits.model import Command, Completed, Record
from netlimits.model.folder import Folder
from netlimits.reproduce import published

EXPERIMENT = """\
experiment: recorded
roles: [source, sinks: 2]
factors: {mtu: [1500, 8896]}
measure: {netperf: {test: TCP_STREAM, seconds: 4, interim_seconds: -1, send_size: "${mtu}"}}
repeat: {replicates: 2, order: listed}
"""
CREATED = "2026-01-01T00:00:00+0000"


def machines(*roles: str) -> dict[str, dict[str, str | None]]:
    """Return machines as campaign.json has them."""
    return {
        role: {"ssh": role, "interface": "data0", "address": f"192.0.2.{n}", "ssh_config": None}
        for n, role in enumerate(roles, 1)
    }


META = {
    "created": CREATED, "overrides": [],
    "machines": machines("source", "sinks-1", "sinks-2"),
    "seed": 1, "shared_kernel": True,
}  # fmt: skip
TRACES = {
    role: published.path(f"rr-trace-{name}").read_text(encoding="utf-8")
    for role, name in (("sinks-1", "deferred-acks"), ("sinks-2", "ack-every-other"))
}


def interim(streams: int, rates: Sequence[float], skew: float = 0.01) -> list[dict[str, float]]:
    """Return 1-s interim results of `streams` streams, which start `skew` s apart."""
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
    meta: Mapping[str, object] = META,
    text: str = EXPERIMENT,
) -> Campaign:
    """Write four runs of two streams at two MTUs; run n has 100 × n Mbit/s per stream by default."""
    experiment = load.parse(text, "recorded.yaml", [("repeat.seed", "1")])
    archive = Archive.create(path, meta, text, {}, plan.Plan(experiment).write_csv)
    archive.lock()
    campaign = reader.open(path)
    for number, run in campaign.runs.items():
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
        archive.append("start", **run_fields(run), attempt=1, started=1e9)
        raw = [
            RawEntry("trace", Completed(role, Command(argv), 0, text, "", 1.0))
            for role in traced
            for argv, text in (
                (("cat", "/proc/net/packet"), "sk\n"),  # as early versions did
                (("timeout", "-s", "INT", "7", "tcpdump", "-i", "data0"), TRACES[role]),
            )
        ]
        archive.raw.write(number, 1, raw)
        archive.append("end", **end_fields(record))
    archive.close()
    return campaign


def rewritten(folder: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the events of a journal, with valid numbers and checksums.

    An event that becomes empty is removed.
    """
    path, head = folder / "journal.jsonl", Head()
    written = []
    for line in path.read_bytes().splitlines(keepends=True):
        body = change(b"{" + line.split(b",", 2)[2].rstrip(b"\n"))
        if not body:
            continue
        written.append(head.sealed(body))
        head.add(written[-1])
    path.write_bytes(b"".join(written))


def edited(folder: Path, name: str, text: str) -> None:
    """Replace the text of a file, and its checksum in the journal."""
    old = Folder(folder).digest(name).encode()
    (folder / name).write_text(text)
    new = Folder(folder).digest(name).encode()
    rewritten(folder, lambda body: body.replace(old, new))


def begun(folder: Path) -> Campaign:
    """Register a campaign's folder as started by this user on this machine."""
    campaign = reader.open(folder)
    archive = campaign.archive
    archive.lock()
    digest = archive.folder.digest("campaign.json")
    entry = registry.begun(archive.identity, archive.folder, digest, archive.journal.head.lines)
    logins.registrar(archive.machines)(archive.folder, entry)
    archive.close()
    return campaign
