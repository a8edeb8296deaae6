"""Write campaigns' folders without a network: complete ones of any experiment, and a hostile one."""

from __future__ import annotations

import json
import random
from pathlib import Path

from recorded import CREATED, TRACES, interim

from netlimits.archive import raw, reader
from netlimits.archive.journal import Head
from netlimits.archive.reader import Campaign
from netlimits.archive.records import end_fields, run_fields
from netlimits.archive.store import Archive
from netlimits.campaign import creation
from netlimits.experiment import duet, load, plan
from netlimits.metrics import METRICS
from netlimits.model import Command, Completed, Record, Run

EXAMPLE = Path(__file__).parents[1] / "notebooks" / "example-campaign"
FACTS = json.loads((EXAMPLE / "hosts" / "sender.json").read_text())
EVENTS = [json.loads(line) for line in (EXAMPLE / "journal.jsonl").read_text().splitlines()]
RAW = raw.parsed((EXAMPLE / "raw" / "000001-1.jsonl").read_text())
STREAMS = 4


def complete(
    path: Path,
    file: Path,
    replicates: int | None = None,
    against: tuple[tuple[str, str], ...] = (),
    loss: float = 0.0,
) -> Campaign:
    """Write a finished campaign with invented figures, and facts and raw output from a lab.

    `replicates` replaces the file's own. With the changes `against`, it is a duet whose second side
    has less throughput by the share `loss`.
    """
    overrides = [("repeat.replicates", str(replicates))] if replicates else []
    if against:
        sides = load.sides(file, overrides, None, against)
        experiment = plan.seeded(duet.duet(*sides, ("old", "new")))
    else:
        experiment = plan.seeded(load.load(file, overrides))
    machines = {
        role: {"ssh": role, "interface": "data0", "address": "198.18.9.1", "ssh_config": None}
        for role in experiment.roles
    }
    meta = {
        "created": CREATED, "overrides": overrides, "seed": experiment.repeat.seed, "shared_kernel": False,
        "machines": machines, **creation._against(experiment),
    }  # fmt: skip
    facts = dict.fromkeys(experiment.roles, FACTS)
    archive = Archive.create(
        path, meta, experiment.text, facts, plan.Plan(experiment).write_csv,
        against=creation._second_text(experiment),
    )  # fmt: skip
    opened = reader.open(path)
    chance = random.Random(1)
    window = any("window_s" in entry for entry in experiment.report)
    events = []
    for run in opened.runs.values():
        rows = interim(STREAMS, [500.0 + chance.random() for _ in range(125)]) if window else []
        if run.number == 1 or "trace" in experiment.around:
            archive.raw.write(run.number, 1, _raw(experiment.roles))
        figures = _figures(run, chance)
        if against:
            share = 1 - loss * (run.values["side"] == "new")
            figures["throughput_mbps"] = 900 * share * (1 - run.block / 20) * chance.gauss(1, 0.02)
        record = Record(run, 1, "ok", "", 1e9, 10, figures, tuple(rows))
        events.append({"event": "end", "at": 1e9, **end_fields(record)})
    for event in EVENTS:
        if event["event"] in ("found", "put_back"):
            role = experiment.roles[0 if event["role"] == "sender" else -1]
            fields = {k: v for k, v in event.items() if k not in ("n", "crc")}
            events.append({**fields, "role": role})
    _write(path / "journal.jsonl", events)
    opened.write_results()
    return opened


def _write(journal: Path, events: list[dict[str, object]]) -> None:
    """Append all events in one write, since an fsync for each takes seconds."""
    head = Head()
    lines = journal.read_bytes().splitlines(keepends=True)
    for line in lines:
        head.add(line)
    for event in events:
        lines.append(head.sealed(json.dumps(event).encode()))
        head.add(lines[-1])
    journal.write_bytes(b"".join(lines))


def _raw(roles: tuple[str, ...]) -> list[raw.RawEntry]:
    trace = Completed(roles[-1], Command(("tcpdump",)), 0, TRACES["sinks-1"], "", 1.0)
    return [*RAW, raw.RawEntry("trace", trace)]


def _figures(run: Run, chance: random.Random) -> dict[str, float]:
    """Return all metrics for a cost of 2 µs per packet and 0.3 µs per KiB."""
    size = float(run.values.get("send_size") or 1448)
    noise = 1 + chance.gauss(0, 0.01)
    us = (2 + 0.3 * size / 1024) * noise
    figures = {m.column: 10 * noise for m in METRICS if m.name != "highest_average"}
    rate = float(run.values.get("rate") or 1e9) / 1e6
    return figures | {
        "throughput_mbps": 8 * size / us,
        "local_send_throughput_mbps": rate if run.values.get("rate") else 8 * size / us,
        "local_sd_us_per_kib": us * 1024 / size,
        "remote_sd_us_per_kib": 1.1 * us * 1024 / size,
        "pace_mbps": rate,
        "segments_per_ack": 2.0 ** (run.number % 5) * noise,
        "transport_mss_bytes": 1448,
        "start_skew_s": 0.01,
    }


MARK = '"><img src=x onerror="window.intruder=1"><script>window.intruder=1</script>'
ENTITY = "&lt;script&gt;window.intruder=1&lt;/script&gt;"
CODES = "\x1b[31m\u202egnp.exe\u0000\x07 ]]> --> </style></svg></pre></title> {{7*7}} ${x} $\\frac$"
HOSTILE = MARK + ENTITY + CODES
WRITTEN = HOSTILE.replace("\0", "")
"""HOSTILE without the character that YAML does not allow."""


def hostile(path: Path) -> Campaign:
    """Write a folder in which every text would run a script in a page that does not escape it."""
    factor, role = "evil", "sender"
    text = json.dumps(
        {
            "experiment": "hostile",
            "question": WRITTEN,
            "source": "javascript:alert(1) " + WRITTEN,
            "factors": {factor: [WRITTEN, "plain"], "send_size": [1024, 8192]},
            "settings": [{"roles": [role], "sysctl": {"net.core.rmem_max": 212992}}],
            "measure": {"netperf": {"test": "TCP_STREAM", "seconds": 1}},
            "repeat": {"replicates": 3, "order": "listed"},
            "report": [
                {"table": "summary", "of": "throughput", "rows": "send_size",
                 "columns": [factor], "title": WRITTEN},
                {"chart": "percentiles", "of": "throughput", "series": [factor], "title": WRITTEN},
                {"chart": "percentiles", "of": "throughput", "series": [factor, "send_size"]},
                {"chart": "percentiles", "of": "latency_p99", "title": WRITTEN},
                {"table": "summary", "of": "throughput", "rows": "evil", "improvement": f"{WRITTEN} over plain"},
            ],
        }
    )  # fmt: skip
    machine = {
        "ssh": "".join(MARK.split()),
        "interface": "data0",
        "address": "198.18.9.1",
        "ssh_config": WRITTEN,
    }
    meta = {
        "created": CREATED,
        "overrides": [["experiment", "hostile"], ["question", json.dumps(WRITTEN)]],
        "seed": 1,
        "shared_kernel": True,
        "machines": {role: machine, "receiver": machine},
        "features": {HOSTILE: {"version": HOSTILE, "features": []}, "odd": HOSTILE},
        "netlimits": HOSTILE,
        "skipped": {},
    }
    facts = {
        role: {
            **FACTS,
            HOSTILE: {"value": HOSTILE, "command": HOSTILE, "printed": HOSTILE},
            "kernel": {"value": HOSTILE, "command": HOSTILE, "printed": HOSTILE},
            "cpu": {"value": [HOSTILE, {HOSTILE: HOSTILE}], "absent": HOSTILE},
            "link": HOSTILE,
            "driver": {"value": {"driver": {HOSTILE: HOSTILE}}},
        },
        "receiver": {"kernel": {"value": None}, "distribution": {"value": 7}},
    }
    overrides = [("experiment", "hostile"), ("question", json.dumps(WRITTEN))]
    parsed = load.parse(text, "hostile.yaml", [*overrides, ("repeat.seed", "1")])
    archive = Archive.create(path, meta, text, facts, plan.Plan(parsed).write_csv)
    archive.lock()
    opened = reader.open(path)
    state = {HOSTILE: HOSTILE, "features": {HOSTILE: [HOSTILE]}}
    for event in ("found", "put_back", "found"):
        for interface, setting in (("data0", HOSTILE), ('"><b>', "sysctl")):
            fields = {"state": state} if event == "found" else {}
            archive.append(event, role=role, interface=interface, setting=setting, **fields)
    archive.append("put_back", role=role, interface="data0", setting=HOSTILE)
    for number, run in opened.runs.items():
        ok = number % 6 != 0
        figures = {"throughput_mbps": 100.0 * number} if ok else {}
        reason = "" if ok else f"{number} {HOSTILE}"
        archive.append("start", **run_fields(run), attempt=1, started=1e9)
        done = Completed(
            HOSTILE, Command((HOSTILE, "--x", HOSTILE), True), 0, HOSTILE, HOSTILE, 1.0
        )
        archive.raw.write(number, 1, [raw.RawEntry(HOSTILE, done)])
        record = Record(run, 1, "ok" if ok else "failed", reason, 1e9, 4, figures)
        archive.append("end", **end_fields(record))
    archive.close()
    return opened
