#!/usr/bin/env python3
"""Measure the reports' experiments on the lab's machines, and draw their figures.

    scripts/gallery.py                    all campaigns on machines of their own, then all figures
    scripts/gallery.py tso rr-bursts      some campaigns, and all figures again
    scripts/gallery.py --short …          fewer runs, in minutes a campaign, to see that it works
    scripts/gallery.py --draw             the figures only, from the archives that are kept

Every configuration of an experiment is run, in shorter and fewer runs than its file asks for
(`FORMS`). What a campaign leaves is kept small in experiments/gallery/NAME: its plan, its hosts'
facts and its journal, which hold every figure; of raw output only what a chart is drawn from.
Figures go to experiments/figures: a chart for each experiment, and one for each figure of which a
report prints no data. `experiments/README.md` shows them, and what the campaigns say of the claims
of the reports (`scripts/claims.py`). The runs of the Turin report's experiments go to the package
too, for `netlimits published`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import claims
import pandas as pd

import netlimits as nl
from netlimits import charts
from netlimits.analysis import frames
from netlimits.experiment import hosts_file, load
from netlimits.lab import labs
from netlimits.lab.link import Shape
from netlimits.reproduce import marks, turin, turin_lab

TURIN = Path(turin_lab.__file__).with_name(turin_lab.FILE)
EXPERIMENTS = Path(__file__).resolve().parent.parent / "experiments"
KEPT, DRAWN = EXPERIMENTS / "gallery", EXPERIMENTS / "figures"
README = EXPERIMENTS / "README.md"
MTU = 9000
"""What the lab's data link carries: the most that an experiment sets."""
MACHINES = 3
"""Hosts up to which a lab is of machines unless asked for: more would not fit into memory."""
NETLIMITS = (sys.executable, "-m", "netlimits")
SIZES = "factors.send_size=[1,10,100,500,1000,1460,10000,100000]"
DECADES = "factors.send_size=[10,100,1000,10000,100000]"


@dataclass(frozen=True)
class Form:
    """How an experiment is run for the gallery, and which of its charts README shows.

    `tools` are those whose runs are `seconds` long; `few` are further options of the short form.
    `traces`: raw output is kept too, for the chart is drawn from packets. `link` is the bit rate,
    in bit/s of frames, of a path that the machines do not see.
    """

    chart: str
    tools: str = "netperf"
    seconds: int = 5
    replicates: int = 6
    sets: Sequence[str] = ()
    few: Sequence[str] = ()
    hosts: int = 2
    options: Sequence[str] = ()
    traces: bool = False
    link: int = 0

    def words(self, *, short: bool) -> list[str]:
        """The --set options."""
        seconds, replicates = self.seconds, self.replicates
        if short:  # but no shorter than the window over which a campaign averages
            seconds, replicates = (1 if self.hosts == 2 else seconds), min(2, replicates)
        pairs = [*self.sets, *(self.few if short else ())]
        if not self.options:
            pairs += [f"measure.{tool}.seconds={seconds}" for tool in self.tools.split()]
        if self.replicates:
            pairs.append(f"repeat.replicates={replicates}")
        return [word for pair in pairs for word in ("--set", pair)]


def _window(seconds: int, *entries: int) -> list[str]:
    return [f"report.{entry}.window_s={seconds}" for entry in entries]


ROOM = "settings.1.sysctl={net.core.rmem_default: {want: 33554432, if_fixed: accept}}"
"""What a machine of 400 MB has: a receiver that falls behind would fill the report's 2 GiB, and the
kernel would kill it."""
PACED = [
    "derive.rate=30e6",  # what the machines still hold at 1024 bytes: packets are the CPU's cost
    "measure.netperf.local_buffer=64K",
    "repeat={order: blocked, replicates: 10, seed: 2021}",
    ROOM,
]
FEWER = "factors.send_size=[10,100,1000,100000]"
TOOLS = "factors.tool=[iperf3,nttcp]"
"""The report's."""


def _turin(megabytes: float, sizes: str, *sets: str, tools: str = "iperf3", link: int = 0) -> Form:
    """Return the form of a length sweep, with or without a link that large sends fill.

    nttcp sends a number of buffers in place of seconds: so many megabytes, in at most WRITES.
    """
    buffers = f"derive.buffers=min(ceil({megabytes:g}e6 / send_size), {WRITES})"
    return Form("spread-throughput", tools, 1, 6, [sizes, buffers, *sets], [FEWER], link=link)


WRITES = 40_000
"""What a machine sends in about a second."""


FORMS = {
    "quickstart": Form("percentiles-throughput", replicates=3, options=("--local",)),
    "udp-send-size": Form("cost-local_sd", seconds=1, replicates=0, sets=[ROOM]),
    "tcp-mss": Form("percentiles-throughput", seconds=1, replicates=0),
    "stateless-offloads": Form("percentiles-throughput", seconds=1, sets=[ROOM]),
    "stateless-offloads-gro-hw": Form("percentiles-throughput", seconds=1, sets=[ROOM]),
    "packets-per-second": Form("packet_rate-local_send_throughput", seconds=2, sets=[ROOM]),
    "constant-bitrate": Form("pacing", seconds=5, replicates=0, sets=PACED),
    "ack-overhead": Form(
        "acks-local_sd",
        seconds=2,
        # a link that the slowest way fills: what it cost is of the same work a second
        sets=["derive.link=40000000", "derive.burst=65536", "factors.mss=[1460]"],
    ),
    "rr-bursts": Form("first_bursts", seconds=2, sets=["trace.packets=200"], traces=True),
    "latency-under-load": Form("boxes-latency_p99", seconds=2, link=turin_lab.LINK),
    "mtu-aggregate": Form("highest_average", seconds=8, sets=_window(5, 0, 1), hosts=3),
    "mtu-aggregate-capped": Form(
        "highest_average",
        seconds=28,
        replicates=6,
        # so slow that a busy computer still fills it, and with little waiting in sockets
        sets=[
            *_window(22, 0, 1),
            "derive.link_bps=20e6",
            "measure.netperf.local_buffer=32K",
        ],
        hosts=3,
    ),
    "tool-comparison": _turin(12, SIZES, tools="iperf3 nuttcp netperf", link=turin_lab.LINK),
    "tso": _turin(40, DECADES, TOOLS),
    "jumbo": _turin(40, DECADES, TOOLS),
    # a link that large sends fill also beside the load, as they fill the report's
    "cpu-stress": _turin(2.5, DECADES, TOOLS, "factors.workers_per_cpu=[0,2]", link=20_000_000),
    "mesh": Form("mesh_links-throughput", seconds=1, hosts=8),
}
"""Rates are a machine's without hardware support: a link of 100 Mbit/s is one that it can fill."""


def main() -> None:
    """Each campaign in turn, then the figures; a campaign that fails ends it, with what it said."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *FORMS])
    parser.add_argument("--draw", action="store_true", help="Only draw, from what is kept.")
    parser.add_argument("--short", action="store_true", help="Fewer and shorter runs.")
    parser.add_argument("--results", type=Path, help="Keep the whole campaigns in this folder.")
    parser.add_argument("--lab", help="In this lab, which is up, and stays.")
    parser.add_argument("--namespaces", action="store_true", help="Without machines (QEMU).")
    arguments = parser.parse_args()
    if not arguments.draw:
        few = [n for n, form in FORMS.items() if arguments.namespaces or form.hosts <= MACHINES]
        _measure(arguments.names or few, arguments)
    draw()


def _measure(names: Sequence[str], arguments: argparse.Namespace) -> None:
    """The campaigns in one lab; what is kept of each replaces what was."""
    guest = None if arguments.namespaces else labs.Guest(cpus=2)
    hosts = max(FORMS[name].hosts for name in names)
    lab = (
        labs.find(arguments.lab) if arguments.lab else labs.up(f"g{os.getpid()}", hosts, MTU, guest)
    )
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (arguments.results or Path(temporary)).resolve()
            for name in names:
                form, out = FORMS[name], folder / name
                where: Sequence[object] = form.options
                if not where:
                    where = ("--hosts", _hosts_file(lab, name, out.with_suffix(".hosts.yaml")))
                sets = form.words(short=arguments.short)
                if guest and where[0] != "--local":
                    shape = Shape(rate=form.link) if form.link else None
                    labs.shape_link(lab.name, lab.hosts[0], shape)
                _netlimits("run", f"experiments/{name}.yaml", "--out", out, *where, *sets)
                keep(out, KEPT / name, traces=form.traces)
    finally:
        if not arguments.lab:
            labs.down(lab.name)


def keep(campaign: Path, target: Path, *, traces: bool = False) -> None:
    """What of a campaign's folder its figures come from, as `netlimits.open` takes it."""
    left_out = {
        "results.parquet",
        "results.csv",
        "results.json",
        "figures",
        *(() if traces else ("raw",)),
    }
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(campaign, target, ignore=lambda _, names: left_out & {*names})
    for path in (target, *target.rglob("*")):  # a campaign is its owner's; what is kept is not
        path.chmod(0o755 if path.is_dir() else 0o644)


def draw() -> None:
    """Every figure whose campaign is kept, and the runs that `netlimits published` draws."""
    DRAWN.mkdir(exist_ok=True)
    for name, form in FORMS.items():
        if (KEPT / name).is_dir():
            with tempfile.TemporaryDirectory() as folder:
                _netlimits("figures", KEPT / name, "--format", "png", "--out", folder)
                shutil.copy(Path(folder) / f"{form.chart}.png", DRAWN / f"{name}-{form.chart}.png")
    turin_lab_runs().to_csv(TURIN, index=False)
    for number, heading, _ in turin.FIGURES:
        chart = marks.turin(number, f"Figure {number}: {heading}")
        print(charts.save(chart, DRAWN / f"turin-{number}.png"), flush=True)
    print(charts.save(aggregate(), DRAWN / "headers-aggregate.png"), flush=True)
    README.write_text(told(README.read_text("utf-8")), "utf-8")


def told(text: str) -> str:
    """README's text with what the campaigns that are kept say now."""
    text = re.sub(rf"{FROM}.*?(?=\n\n)", lambda _: provenance(), text, flags=re.DOTALL)
    for name, form in FORMS.items():
        picture = rf"(!\[[^\]]+\]\(figures/{name}-{form.chart}\.png\)\n)(?:\*Measured .*\*\n)?"
        text = re.sub(picture, lambda match, name=name: match[1] + caption(name), text)
    shown = claims.table(KEPT)
    table = rf"{re.escape(claims.HEAD[0])}.*?\n\n{re.escape(claims.GAPS)}.*?(?=\n\n)"
    return re.sub(table, lambda _: shown, text, flags=re.DOTALL)


def provenance() -> str:
    """Where what is kept was measured, and how often: a paragraph of experiments/README.md."""
    places: dict[str, list[str]] = {}
    for path in sorted(KEPT.iterdir()):
        campaign = nl.open(path)
        each = len(campaign.frame()) / campaign.frame()["config"].nunique()
        places.setdefault(_place(campaign), []).append(f"{path.name} ({each:.3g})")
    sources = "; ".join(f"in {place}: {', '.join(names)}" for place, names in places.items())
    told = f"{FROM} (runs of each configuration) {sources}."
    return textwrap.fill(told, 100, break_on_hyphens=False)


def caption(name: str) -> str:
    """The line below an experiment's chart: where it was measured, and how."""
    form, place = FORMS[name], OLDER
    if form.options:
        place = "on this machine alone, over loopback"
    elif (KEPT / name).is_dir():
        campaign = nl.open(KEPT / name)
        frame = campaign.frame()
        each = len(frame) / frame["config"].nunique()
        runs = f"{each:.3g} run{'s' if each != 1 else ''}"
        path = f", over a path of {form.link / 1e6:g} Mbit/s" if form.link else ""
        place = f"in {_place(campaign)}{path}: {runs} of each configuration"
    return f"*Measured {place}.*\n"


OLDER = "in the lab's namespaces, one kernel"
"""Charts whose campaigns are not kept."""

FROM = "What `gallery/` keeps was measured"


def _place(campaign: nl.Campaign) -> str:
    """Where a campaign was measured, in a few words."""
    if campaign.archive.meta["shared_kernel"]:
        local = all(m["ssh"] is None for m in campaign.archive.meta["machines"].values())
        return "this machine alone" if local else "the lab's namespaces, one kernel"
    return "the lab's machines"


def turin_lab_runs() -> pd.DataFrame:
    """The runs of the Turin report's experiments, in the columns that `published` draws."""
    parts = []
    for name in turin_lab.EXPERIMENTS:
        runs = frames.usable(nl.open(KEPT / name).frame())
        columns = [column for column in turin_lab.COLUMNS if column in runs.columns]
        parts.append(runs[columns].assign(experiment=name))
    every = pd.concat(parts, ignore_index=True)[["experiment", *turin_lab.COLUMNS]]
    for column in ("throughput_mbps", "local_process_cpu_pct"):
        every[column] = every[column].map("{:.5g}".format, na_action="ignore")
    return every


def aggregate() -> charts.Chart:
    """The highest average of two machines by MTU, with the lab's caps and its link."""
    campaign = nl.open(KEPT / "mtu-aggregate-capped")
    entry = next(e for e in campaign.experiment.report if e.get("chart") == "highest_average")
    options = {k: v for k, v in entry.items() if k not in ("chart", "title")}
    title = "Aggregate netperf TCP_STREAM throughput vs MTU"
    chart = charts.highest_average(campaign.intervals(), **options, title=title)
    marks.note(chart, f"measured in {_place(campaign)}")
    return chart


def _hosts_file(lab: labs.Lab, name: str, path: Path) -> Path:
    """The lab's hosts in their order under the experiment's roles, as without --hosts."""
    machines = hosts_file.machines(lab.hosts_file)
    roles = load.load(EXPERIMENTS / f"{name}.yaml").roles
    lines = [
        f"{role}: {{ssh: {m.ssh}, interface: {m.interface}, address: {m.address}}}"
        for role, m in zip(roles, machines.values(), strict=False)  # some need fewer than there are
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"ssh_config: {lab.folder / 'ssh_config'}", *lines]) + "\n")
    return path


def _netlimits(*argv: object) -> None:
    words = [str(word) for word in argv]
    print("netlimits", *words, flush=True)
    status = subprocess.run([*NETLIMITS, *words], cwd=EXPERIMENTS.parent).returncode
    if status not in (0, 1):  # 1: some runs failed, and netlimits said why
        sys.exit(status)


if __name__ == "__main__":
    main()
