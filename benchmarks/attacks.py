"""Thousands of attacks on netlimits from outside, and which of them got through.

    sudo .venv/bin/python benchmarks/attacks.py                  # 2,000, of every family
    python benchmarks/attacks.py --count 20000 --seed 7 --minutes 60
    python benchmarks/attacks.py --family archives --number 1234   # one of them again
    sudo .venv/bin/python benchmarks/attacks.py --family kills --family races --count 200
    # what is done to hosts, runs, guards and connections, and to hosts that are set up oddly
    sudo .venv/bin/python benchmarks/attacks.py --family bystanders --family sysctls \\
        --family meddling --family "cut connections" --family guards --family "ssh path" \\
        --family found_qdiscs --family stacked --count 500
    # kills on machines, five times alone and five times beside two busy loops
    sudo .venv/bin/python benchmarks/attacks.py --family kills --family races --on machines \\
        --count 6 --times 5 --busy 0 2

The attacks are data (tests/faults/attacks): each is made again from its family, seed and number.
A family needs nothing, a lab of namespaces or a lab of machines; labs take root, and are built and
taken down again. `--on machines` makes the attacks of namespaces on machines, of the families that
can be made there. `--count` is shared out among the families that are asked for, or that can be
made here, by their weights. `--times` makes each attack that often, with the seeds from `--seed`
on; `--busy 0 2` makes all of that alone and then again beside two processes that take a CPU each.
After `--minutes`, shared out among the kinds of need, no attack is begun any more. Made and passed
are printed for each family, and what each that passed did; the exit status is 1 when one did.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

STOPPING = threading.Event()
"""Set by a signal: no further attack is begun, and labs are taken down."""

VERBOSE = threading.Event()

if TYPE_CHECKING:
    from faults.attacks import Family, Outcome

    Jobs = Iterator[tuple[Family, int, int]]


def main() -> int:
    """Make them and print the table."""
    given = _given()
    with tempfile.TemporaryDirectory(prefix="attacks-") as scratch:
        os.environ["TMPDIR"] = scratch
        os.environ["XDG_STATE_HOME"] = f"{scratch}/state"
        from faults import attacks

        chosen = _chosen(given.family, given.on)
        began = time.monotonic()
        until = began + given.minutes * 60
        outcomes: list[Outcome] = []
        needs = [need for need in attacks.Needs if any(f.needs is need for f in chosen)]
        rounds = [(loops, need) for loops in given.busy for need in needs]
        for remaining, (loops, need) in zip(range(len(rounds), 0, -1), rounds, strict=True):
            now = time.monotonic()
            share = now + (until - now) / remaining
            jobs = _jobs(chosen, need, given, share)
            make = _alone if need is attacks.Needs.NOTHING else _on_hosts
            with _busy(loops):
                outcomes += make(jobs, need, given, Path(scratch))
        order = [family.name for family in attacks.FAMILIES]
        outcomes.sort(key=lambda o: (order.index(o.family), o.seed, o.number))
        print(attacks.table(outcomes))
        print(f"\nseed {given.seed}, {time.monotonic() - began:.0f} s")
    return 1 if any(outcome.through for outcome in outcomes) else 0


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="attacks altogether")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", action="append", help="of this family alone; may be repeated")
    parser.add_argument("--number", type=int, help="only the attack of this number")
    parser.add_argument("--times", type=int, default=1, help="so often, each with another seed")
    parser.add_argument("--on", choices=["namespaces", "machines"], default="namespaces")
    parser.add_argument("--busy", type=int, nargs="+", default=[0], help="loops, in turn")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin none after them")
    parser.add_argument("--jobs", type=int, default=2, help="processes, or labs, at a time")
    parser.add_argument("--verbose", action="store_true", help="print all of hosts, as they come")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    given = parser.parse_args()
    if given.verbose:
        VERBOSE.set()
    return given


def _stop(number: int, _: object) -> None:
    STOPPING.set()
    sys.exit(128 + number)


@contextlib.contextmanager
def _busy(loops: int) -> Iterator[None]:
    """Within it so many processes take a CPU each."""
    begun = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in begun:
            process.kill()
            process.wait()


def _chosen(names: list[str] | None, on: str = "namespaces") -> list[Family]:
    """The families asked for, or all that can be made here."""
    from faults import attacks

    families = {family.name: family for family in attacks.FAMILIES}
    if on == "machines":
        moved = {
            name: dataclasses.replace(family, needs=attacks.Needs.MACHINES)
            for name, family in families.items()
            if family.portable
        }
        families = moved | {n: f for n, f in families.items() if f.needs is attacks.Needs.MACHINES}
    if strange := {*(names or ())} - {*families}:
        sys.exit(f"no family {', '.join(sorted(strange))}; there are {', '.join(families)}")
    if names:
        return [family for name, family in families.items() if name in names]
    if os.geteuid() == 0:
        return [*families.values()]
    some = [family for family in families.values() if family.needs is attacks.Needs.NOTHING]
    others = ", ".join(name for name, family in families.items() if family not in some)
    print(f"left out, as labs take root: {others}", file=sys.stderr)
    return some


def _jobs(chosen: list[Family], need: object, given: argparse.Namespace, until: float) -> Jobs:
    """The attacks on one kind of ground, the families by turns, until the time is over."""
    from faults import attacks

    jobs = [
        ((number + 0.5) / count, family, number)
        for family, count in attacks.shares(given.count, chosen)
        for number in ([given.number] if given.number is not None else range(count))
        if family.needs is need
    ]
    for seed in range(given.seed, given.seed + given.times):
        for _, family, number in sorted(jobs, key=lambda job: job[0]):
            if STOPPING.is_set() or time.monotonic() > until:
                return
            yield family, number, seed


def _alone(jobs: Jobs, need: object, given: argparse.Namespace, scratch: Path) -> Iterator[Outcome]:
    """Those that need nothing, in processes; a thread each hands them on, so that time counts."""
    with ProcessPoolExecutor(given.jobs) as pool:

        def one_by_one(mine: Jobs) -> list[Outcome]:
            return [pool.submit(_made, f.name, number, seed).result() for f, number, seed in mine]

        yield from _in_threads(one_by_one, jobs, given.jobs)


def _made(name: str, number: int, seed: int) -> Outcome:
    from faults import attacks

    (family,) = [each for each in attacks.FAMILIES if each.name == name]
    return attacks.attempt(family, number, seed)


def _on_hosts(
    jobs: Jobs, need: object, given: argparse.Namespace, scratch: Path
) -> Iterator[Outcome]:
    """Those that need a lab, on as many labs as there are jobs."""
    from faults.attacks import grounds

    letters = iter("abcdefghijklmnop")

    def on_one(mine: Jobs) -> list[Outcome]:
        name = f"{next(letters)}{need.name[0].lower()}{os.getpid()}"
        return [*map(_told, grounds.outcomes(mine, need, name, scratch))]

    yield from _in_threads(on_one, jobs, given.jobs)


def _told(outcome: Outcome) -> Outcome:
    """The same outcome; one that got through is printed at once, with --verbose every one."""
    if outcome.through or VERBOSE.is_set():
        print(f"{outcome.family} {outcome.number} --seed {outcome.seed}", outcome.what,
              outcome.through, "", sep="\n", file=sys.stderr, flush=True)  # fmt: skip
    return outcome


def _in_threads(work: Callable[[Jobs], list[Outcome]], jobs: Jobs, count: int) -> Iterator[Outcome]:
    lock = threading.Lock()

    def mine() -> Jobs:
        while True:
            with lock:
                job = next(jobs, None)
            if job is None:
                return
            yield job

    with ThreadPoolExecutor(count) as threads:
        for some in threads.map(lambda _: work(mine()), range(count)):
            yield from some


if __name__ == "__main__":
    sys.exit(main())
