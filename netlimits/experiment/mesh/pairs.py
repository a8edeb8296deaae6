"""A mesh: many hosts that measure in pairs, as in `roles: {hosts: 40, pairs: all}`.

`sender` and `receiver` are factors, whose values are the hosts' names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from netlimits.model import Mesh, Setup, Values

HOSTS = "hosts"
"""The key of a mesh in `roles:`, and the key of the list of machines in a hosts file."""

LIMIT = 1000
"""Maximum number of hosts: the largest mesh whose dispatch is measured (`benchmarks/mesh.py`)."""

SHAPES = ("all", "ring", "bipartite")
"""Names of sets of pairs, which the schema describes."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": [HOSTS],
    "properties": {
        HOSTS: {
            "description": "Number of hosts; the first ones of the list `hosts` in the hosts file.",
            "type": "integer",
            "minimum": 2,
            "maximum": LIMIT,
        },
        "pairs": {
            "description": "all: each two hosts once; ring: each host with the next; bipartite: "
            "each host of the first half with each of the second; or a list of [sender, receiver] "
            "by the hosts' numbers, from 1.",
            "anyOf": [
                {"type": "string", "enum": list(SHAPES)},
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "array",
                        "minItems": 2,
                        "maxItems": 2,
                        "items": {"type": "integer", "minimum": 1},
                    },
                },
            ],
            "default": "all",
        },
    },
}

ENDS_OF_ROLE: Mapping[str, tuple[str, ...]] = {
    Mesh.SENDER: (Mesh.SENDER,),
    Mesh.RECEIVER: (Mesh.RECEIVER,),
    HOSTS: (Mesh.SENDER, Mesh.RECEIVER),
}
"""Role in the rest of a mesh's file -> the ends of a pair that it means."""


def names(count: int) -> tuple[str, ...]:
    return tuple(f"{HOSTS}-{number}" for number in range(1, count + 1))


def mesh(written: Mapping[str, Any]) -> Mesh:
    """Return the mesh that `roles:` describes; pairs that `faults` reports are left out."""
    hosts, shape = names(written[HOSTS]), written.get("pairs", "all")
    if isinstance(shape, str):
        return Mesh(hosts, tuple(_shaped(hosts, shape)), shape)
    wrong = {place for _, *key in faults(written) for place in key[1:2]}
    chosen = (pair for place, pair in enumerate(shape) if place not in wrong)
    return Mesh(hosts, tuple((hosts[a - 1], hosts[b - 1]) for a, b in chosen), "list")


def _shaped(hosts: Sequence[str], shape: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a named shape, sender first."""
    count = len(hosts)
    if shape == "ring":
        yield from zip(hosts, (*hosts[1:], hosts[0]), strict=True)
    elif shape == "bipartite":
        yield from itertools.product(hosts[: count // 2], hosts[count // 2 :])
    else:
        for a, b in itertools.combinations(range(count), 2):
            # each host sends to the hosts within half a circle, so all send about equally often
            first = 2 * (b - a) < count or (2 * (b - a) == count and a % 2 == 0)
            yield (hosts[a], hosts[b]) if first else (hosts[b], hosts[a])


def faults(written: Mapping[str, Any]) -> Iterator[tuple[str, *tuple[str | int, ...]]]:
    """Yield what is wrong with a mesh of valid shape: a sentence, and its key below `roles`."""
    count, pairs = written[HOSTS], written.get("pairs", "all")
    if pairs == "bipartite" and count % 2:
        yield f"{count} hosts cannot be halved; bipartite needs an even number", HOSTS
    if pairs == "ring" and count < 3:
        yield "a ring needs at least three hosts; for two use `all`", "pairs"
    seen: dict[tuple[int, int], int] = {}
    for place, (a, b) in enumerate(pairs if isinstance(pairs, list) else ()):
        if unknown := [number for number in (a, b) if number > count]:
            problem = f"[{a}, {b}]: there is no host {unknown[0]}: the mesh has {count}"
            yield problem, "pairs", place
        elif a == b:
            yield f"[{a}, {b}]: host {a} would measure against itself", "pairs", place
        elif (a, b) in seen:
            problem = f"[{a}, {b}] is entry {seen[a, b] + 1} already; `repeat` runs it more often"
            yield problem, "pairs", place
        seen.setdefault((a, b), place)


def at(setup: Setup, values: Values) -> Setup:
    """Return a setup with the hosts of the pair in `values` in place of `sender` and `receiver`."""
    host = {end: str(values[end]) for end in (Mesh.SENDER, Mesh.RECEIVER)}
    around = setup.around
    if around.trace:
        traced = tuple(host[end] for end in around.trace.roles)
        around = replace(around, trace=replace(around.trace, roles=traced))
    if around.profile:
        ends = tuple(host[end] for end in around.profile.roles)
        around = replace(around, profile=replace(around.profile, roles=ends))
    settings = tuple(
        replace(use, roles=tuple(host[r] for r in use.roles)) for use in setup.settings
    )
    return replace(setup, settings=settings, around=around)


def everywhere(setup: Setup, of: Mesh) -> Setup:
    """Return a setup with all senders and receivers in place of `sender` and `receiver`."""
    hosts = {
        Mesh.SENDER: tuple(dict.fromkeys(a for a, _ in of.pairs)),
        Mesh.RECEIVER: tuple(dict.fromkeys(b for _, b in of.pairs)),
    }

    def every(ends: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(host for end in ends for host in hosts[end]))

    around = setup.around
    if around.trace:
        around = replace(around, trace=replace(around.trace, roles=every(around.trace.roles)))
    if around.profile:
        profile = replace(around.profile, roles=every(around.profile.roles))
        around = replace(around, profile=profile)
    settings = tuple(replace(use, roles=every(use.roles)) for use in setup.settings)
    return replace(setup, settings=settings, around=around)
