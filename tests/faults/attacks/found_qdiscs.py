"""Qdiscs that somebody configured before: each comes back exactly, or is refused before any change.

The kind, its parameters, its handle and its size table are drawn by chance, some with filters,
classes or inner qdiscs of their own. A setting takes its place; then it is restored, by `Changes`
or from any state as a guard does it, and `tc` must show what it showed before.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from random import Random

from faults.attacks.base import Family, Held, Needs
from faults.guest_ground import GuestGround
from undoing import ListLog

from netlimits.errors import SettingError
from netlimits.restore.changes import Changes
from netlimits.settings import setting

_SHOW = r"""for what in qdisc class filter; do tc -r -d $what show dev "$1"; done |
grep -v -e '^class fq_codel' -e '^class cake' -e '^class sfq'"""
_TRAFFIC = "timeout 0.5 netperf -H $1 -l 1 >/dev/null 2>&1 || true"

WISHES = (
    {"kind": "fq", "maxrate": "50mbit"},
    {"kind": "netem", "delay": "20ms", "jitter": "1ms", "distribution": "normal"},
    {"kind": "cake", "bandwidth": "80mbit"},
    {"kind": "fq_codel", "target": "7ms"},
    {"kind": "htb", "rate": "60mbit", "burst": "50kb"},
    {"kind": "tbf", "rate": "60mbit", "burst": "50kb", "latency": "50ms"},
)


def _time(chance: Random, least: int = 1, most: int = 200_000) -> str:
    return f"{chance.randint(least, most)}us"


def _rate(chance: Random) -> str:
    return f"{chance.randint(100_000, 2 * 10**9)}bit"


def _some(chance: Random, *groups: tuple[str, ...]) -> Iterator[str]:
    for group in groups:
        if chance.random() < 0.4:
            yield from group


def _netem(chance: Random) -> Iterator[str]:
    yield from ("netem", "limit", str(chance.randint(1, 100_000)))
    delay = chance.choice(("500us", "1500us", "1.234567ms", _time(chance), _time(chance, 1, 10**7)))
    yield from ("delay", delay)
    if chance.random() < 0.1:
        yield _time(chance)
    yield from _some(
        chance,
        ("loss", f"{chance.uniform(0, 100):.9g}%"),
        ("duplicate", f"{chance.uniform(0, 3):.6g}%", f"{chance.uniform(0, 99):.5g}%"),
        ("corrupt", f"{chance.uniform(0, 1):.3g}%"),
        ("rate", _rate(chance), str(chance.randint(-20, 40))),
        ("slot", f"{chance.randint(800, 10**6)}ns", f"{chance.randint(10**6, 10**8)}ns"),
    )


def _fq(chance: Random) -> Iterator[str]:
    yield "fq"
    yield from _some(
        chance,
        ("limit", str(chance.randint(1, 50_000))),
        ("flow_limit", str(chance.randint(1, 1000))),
        ("maxrate", _rate(chance)),
        ("low_rate_threshold", _rate(chance)),
        ("refill_delay", _time(chance)),
        ("horizon", _time(chance, 10_000, 10**7)),
        ("ce_threshold", _time(chance)),
        ("timer_slack", f"{chance.randint(1000, 100_000)}ns"),
        ("nopacing",),
        ("horizon_cap",),
        ("orphan_mask", str(chance.choice((255, 1023, 1000)))),
    )


def _fq_codel(chance: Random) -> Iterator[str]:
    yield "fq_codel"
    yield from _some(
        chance,
        ("limit", str(chance.randint(1, 20_000))),
        ("flows", str(chance.randint(1, 4096))),
        ("target", _time(chance)),
        ("interval", _time(chance)),
        ("ce_threshold", _time(chance)),
        ("memory_limit", f"{chance.randint(10**5, 10**8)}b"),
        ("noecn",),
    )


def _cake(chance: Random) -> Iterator[str]:
    yield from ("cake", "bandwidth", _rate(chance))
    yield from _some(
        chance,
        ("rtt", _time(chance, 10)),
        (chance.choice(("besteffort", "diffserv4", "diffserv8", "precedence")),),
        (chance.choice(("flows", "dual-srchost", "hosts")),),
        ("ack-filter",),
        ("nat", "wash"),
        ("overhead", str(chance.randint(-20, 100)), "mpu", str(chance.randint(0, 200))),
        ("atm",),
        ("memlimit", f"{chance.randint(10**6, 10**8)}b"),
        ("autorate-ingress",),
    )


def _tbf(chance: Random) -> Iterator[str]:
    yield from ("tbf", "rate", _rate(chance), "burst", f"{chance.randint(9000, 10**6)}b")
    yield from ("latency", _time(chance, 100))
    yield from _some(
        chance, ("mpu", str(chance.randint(1, 500))), ("overhead", str(chance.randint(1, 60)))
    )


def _others(chance: Random) -> Iterator[str]:
    yield from chance.choice(
        (
            ("pfifo", "limit", str(chance.randint(1, 10**5))),
            ("bfifo", "limit", str(chance.randint(1, 10**7))),
            ("pfifo_fast",),
            ("sfq", "perturb", "10"),
            ("red", "limit", "400000", "min", "30000", "max", "90000", "avpkt", "1000"),
            ("prio", "bands", "4"),
            ("htb", "default", "1"),
            ("drr",),
            ("codel", "target", _time(chance)),
        )
    )


_CLASSES = "num_tc 2 map 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1"


def _mqprio(chance: Random) -> Iterator[str]:
    first = chance.randint(1, 3)
    yield from ("mqprio", *_CLASSES.split(), "queues", f"{first}@0", f"{4 - first}@{first}")
    yield from ("hw", "0")


def _taprio(chance: Random) -> Iterator[str]:
    yield from ("taprio", *_CLASSES.split(), "queues", "1@0", "1@1", "base-time", "0")
    yield from ("sched-entry", "S", "01", str(chance.randint(300_000, 10**6)))
    yield from ("sched-entry", "S", "02", "300000", "clockid", "CLOCK_TAI")


OF_QUEUES = (_mqprio, _taprio)
"""They need an interface with more than one queue: a veth is made."""
_VETH = """ip link add many0 numtxqueues 4 numrxqueues 4 type veth peer name many1 numrxqueues 4
ip link set many1 up; ip link set many0 up"""

KINDS: tuple[Callable[[Random], Iterator[str]], ...] = (
    _netem,
    _fq,
    _fq_codel,
    _cake,
    _tbf,
    _others,
    *OF_QUEUES,
)


def _root(chance: Random, kind: Callable[[Random], Iterator[str]], interface: str) -> str:
    words = ["tc", "qdisc", "add", "dev", interface, "root"]
    handle = chance.choice(("6e6c", "1", f"{chance.randint(1, 0xFFFF):x}", ""))
    words += ["handle", f"{handle}:"] if handle else []
    if chance.random() < 0.4:
        layer = chance.choice(("ethernet", "atm", ""))
        words += ["stab", "overhead", str(chance.randint(-20, 60))]
        words += ["linklayer", layer] if layer else []
        words += _some(chance, ("mpu", "64"), ("mtu", "3000"), ("tsize", "256"))
    return shlex.join([*words, *kind(chance)])


def _hanging(chance: Random, interface: str) -> str:
    """Return a command that hangs something on the root, or none."""
    root = f"root=$(tc qdisc show dev {interface} | sed -n 's/^qdisc [a-z_]* \\([0-9a-f]*:\\) root.*/\\1/p')"
    return chance.choice(
        (
            *("true",) * 8,
            f"tc qdisc add dev {interface} clsact && "
            f"tc filter add dev {interface} egress matchall action ok",
            f"tc filter add dev {interface} protocol ip prio 7 matchall action ok",
            f"{root}; tc class add dev {interface} parent $root classid ${{root}}1 htb rate 1gbit",
            f"{root}; tc qdisc add dev {interface} parent ${{root}}1 handle 9: pfifo limit 9",
        )
    )


def attack(held: Held) -> str | None:
    """A found qdisc, a setting in its place or a refusal, and what `tc` shows after it."""
    ground, chance = held.ground, held.chance
    assert isinstance(ground, GuestGround)
    guests, name = ground.guests, chance.choice(ground.lab.hosts)
    host = guests.host(name)
    peer = next(other for other in ground.lab.hosts if other != name)
    kind = KINDS[held.number % len(KINDS)]
    interface = "many0" if kind in OF_QUEUES else "data0"
    command, hanging = _root(chance, kind, interface), _hanging(chance, interface)
    held.says(f"{name}: {command}; {hanging}")
    if interface == "many0":
        guests.run(name, "sh", "-c", _VETH)
    guests.run(name, "sh", "-c", f"tc qdisc del dev {interface} root; {command}")
    guests.run(name, "sh", "-c", hanging)  # where it does not fit, it is not there
    guests.run(name, "sh", "-c", _TRAFFIC, "sh", ground.lab.data(peer))
    show = ("sh", "-c", _SHOW, "sh", interface)
    before = guests.run(name, *show).stdout
    held.says(f"there is {before.splitlines()[:1]}")
    log = ListLog(lambda _: host)
    changes = Changes(lambda _: host, log)
    try:
        for wanted in chance.sample(WISHES, chance.randint(1, 2)):
            held.says(f"wants {wanted['kind']}")
            changes.reach(name, interface, "qdisc", wanted)
        if log.originals and chance.random() < 0.5:
            held.says("restored from any state")
            for command in setting("qdisc").undo(interface, log.originals[0].state, {}):
                guests.run(name, *command.argv)
        changes.restore()
    except SettingError as error:
        held.says(f"refused: {error}")
        if log.originals:
            return "refused after a change"
    after = guests.run(name, *show).stdout
    guests.run(name, "sh", "-c", "tc qdisc del dev data0 root; tc qdisc del dev data0 clsact")
    guests.run(name, "ip", "link", "del", "many0")
    return None if after == before else f"was:\n{before}\nis:\n{after}"


FAMILY = Family("found_qdiscs", attack, weight=0.5, needs=Needs.MACHINES)
