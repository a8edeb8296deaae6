"""Searches behind caps that are planted in the lab: is the cap found, and in how many trials?

    sudo benchmarks/search.py            20 searches, and 6 bisections (some 15 minutes)
    sudo benchmarks/search.py 4 2

Three namespaces at a switch; `lab link` gives the receiver's link a rate or a number of packets/s,
drawn anew for each search. A bisection halves the range of loads until it is as narrow, and decides
each load as a search does, by the majority of three trials.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from netlimits.archive import reader
from netlimits.archive.logbook import searches
from netlimits.campaign import creation
from netlimits.campaign.interrupt import Stop
from netlimits.campaign.schedule import every_search
from netlimits.campaign.session import Session
from netlimits.checks.survey import survey
from netlimits.experiment import hosts_file, load
from netlimits.experiment.plan import Plan
from netlimits.experiment.search import controller
from netlimits.hosts.connect import connect, connect_all
from netlimits.lab import labs, link
from netlimits.model import Search
from netlimits.model.searches import Bounds, SearchTrial, bounds

NAME = "searches"
SIZE, FRAME = 1448, 1448 + 42
TEXT = f"""\
experiment: planted
derive: {{rate: packets * {SIZE} * 8}}
search: {{of: packets, from: 200, to: 20K, width: 1, trials: 3}}
measure: {{iperf3: {{protocol: udp, rate: "${{rate}}", send_size: {SIZE}, seconds: 2}}}}
"""
WITHIN = 0.02
Advance = Callable[[Search, Sequence[SearchTrial]], "int | Bounds"]


def bisect(search: Search, trials: Sequence[SearchTrial]) -> int | Bounds:
    """The next load of a bisection on a logarithmic scale, as `controller.advance`."""
    low, high = float(search.low), float(search.high)
    while high / low > 1 + search.width:
        middle = round(math.sqrt(low * high))
        those = [trial for trial in trials if trial.load == middle]
        decided = bounds(those, search.trials)
        if decided.missed is None and decided.held is None:
            return middle
        low, high = (middle, high) if decided.missed is None else (low, middle)
    return Bounds(low, high)


def cap(random_of: random.Random, by_rate: bool) -> tuple[link.Shape, float]:
    """A shape of the link, and how many packets/s it carries."""
    packets = round(math.exp(random_of.uniform(math.log(500), math.log(5000))))
    if by_rate:
        return link.Shape(rate=packets * FRAME * 8), packets
    return link.Shape(packets=packets), packets


def searched(lab: labs.Lab, folder: Path, advance: Advance) -> tuple[float, int]:
    """The highest load that held in one search, and the number of its trials."""
    usual, controller.advance = controller.advance, advance
    try:
        file = folder / "planted.yaml"
        file.write_text(TEXT)
        plan = Plan(load.load(file, [("repeat.seed", "1")]))
        bound = hosts_file.machines(lab.hosts_file, plan.experiment.roles)
        with Stop() as stop, connect_all(bound) as hosts:
            surveyed = survey(plan, bound, hosts)
            campaign = creation.create(plan, surveyed, folder / "results")
            campaign.archive.lock()
            session = Session(campaign.archive, campaign.plan, surveyed, hosts, connect)
            with session.open():
                every_search(session, stop, lambda _: None)
            campaign.archive.close()
        (search,) = searches(plan, reader.open(folder / "results").records())
        result = search.advance()
        assert isinstance(result, Bounds)
        return result.held or 0.0, len(search.records)
    finally:
        controller.advance = usual


def compared(lab: labs.Lab, name: str, count: int, advance: Advance) -> None:
    """Search behind `count` caps, half of them of each kind, and print what came of it."""
    random_of = random.Random(44)
    errors, trials = [], []
    for number in range(count):
        shape, planted = cap(random_of, by_rate=number % 2 == 0)
        link.apply(lab, "receiver", shape)
        with tempfile.TemporaryDirectory() as folder:
            held, taken = searched(lab, Path(folder), advance)
        errors.append(abs(held / planted - 1))
        trials.append(taken)
        kind = "rate" if shape.rate else "packets"
        print(f"  {name}: cap {planted:.0f} packets/s ({kind}): {held:.0f} in {taken}", flush=True)
    right = sum(error <= WITHIN for error in errors)
    print(
        f"{name}: {right} of {count} within {100 * WITHIN:g} %, median error "
        f"{100 * median(errors):.2g} %, median {median(trials):g} trials"
    )


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]] or [20, 6]
    lab = labs.up(NAME, hosts=3, mtu=1500)
    try:
        compared(lab, "MLRsearch", counts[0], controller.advance)
        if counts[1:]:
            compared(lab, "bisection", counts[1], bisect)
    finally:
        labs.down(NAME)


if __name__ == "__main__":
    main()
