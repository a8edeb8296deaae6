"""Thousands of attacks on netlimits from outside, and which of them got through.

    sudo .venv/bin/python benchmarks/attacks.py                  # 2,000, of every family
    python benchmarks/attacks.py --count 20000 --seed 7 --minutes 60
    python benchmarks/attacks.py --family archives --number 1234   # one of them again
    sudo .venv/bin/python benchmarks/attacks.py --family kills --family races --count 200

The attacks are data (tests/faults/attacks): each is made again from its family, seed and number.
A family needs nothing, a lab of namespaces or a lab of machines; labs take root, and are built and
taken down again. `--count` is shared out among the families that are asked for, or that can be made
here, by their weights. After `--minutes`, shared out among the three kinds of need, none is begun
any more. Made and passed are printed for each family, and what each that passed did;
the exit status is 1 when one did.
"""

from __future__ import annotations

import argparse
import os
import signal
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

if TYPE_CHECKING:
    from faults.attacks import Family, Outcome

    Jobs = Iterator[tuple[Family, int]]


def main() -> int:
    """Make them and print the table."""
    given = _given()
    with tempfile.TemporaryDirectory(prefix="attacks-") as scratch:
        os.environ["TMPDIR"] = scratch
        os.environ["XDG_STATE_HOME"] = f"{scratch}/state"
        from faults import attacks

        chosen = _chosen(given.family)
        began = time.monotonic()
        until = began + given.minutes * 60
        outcomes: list[Outcome] = []
        needs = [need for need in attacks.Needs if any(f.needs is need for f in chosen)]
        for remaining, need in zip(range(len(needs), 0, -1), needs, strict=True):
            now = time.monotonic()
            share = now + (until - now) / remaining
            jobs = _jobs(chosen, need, given, share)
            make = _alone if need is attacks.Needs.NOTHING else _on_hosts
            outcomes += make(jobs, need, given, Path(scratch))
        order = [family.name for family in attacks.FAMILIES]
        outcomes.sort(key=lambda outcome: (order.index(outcome.family), outcome.number))
        print(attacks.table(outcomes))
        print(f"\nseed {given.seed}, {time.monotonic() - began:.0f} s")
    return 1 if any(outcome.through for outcome in outcomes) else 0


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="attacks altogether")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", action="append", help="of this family alone; may be repeated")
    parser.add_argument("--number", type=int, help="only the attack of this number")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin none after them")
    parser.add_argument("--jobs", type=int, default=2, help="processes, or labs, at a time")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    return parser.parse_args()


def _stop(number: int, _: object) -> None:
    STOPPING.set()
    sys.exit(128 + number)


def _chosen(names: list[str] | None) -> list[Family]:
    """The families asked for, or all that can be made here."""
    from faults import attacks

    families = {family.name: family for family in attacks.FAMILIES}
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


def _jobs(
    chosen: list[Family], need: object, given: argparse.Namespace, until: float
) -> Iterator[tuple[Family, int]]:
    """The attacks on one kind of ground, the families by turns, until the time is over."""
    from faults import attacks

    jobs = [
        ((number + 0.5) / count, family, number)
        for family, count in attacks.shares(given.count, chosen)
        for number in ([given.number] if given.number is not None else range(count))
        if family.needs is need
    ]
    for _, family, number in sorted(jobs, key=lambda job: job[0]):
        if STOPPING.is_set() or time.monotonic() > until:
            return
        yield family, number


def _alone(jobs: Jobs, need: object, given: argparse.Namespace, scratch: Path) -> Iterator[Outcome]:
    """Those that need nothing, in processes; a thread each hands them on, so that time counts."""
    with ProcessPoolExecutor(given.jobs) as pool:

        def one_by_one(mine: Jobs) -> list[Outcome]:
            return [pool.submit(_made, f.name, number, given.seed).result() for f, number in mine]

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
        return [*grounds.outcomes(mine, need, given.seed, name, scratch)]

    yield from _in_threads(on_one, jobs, given.jobs)


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
