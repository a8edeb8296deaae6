"""Rules of the NIC that put chosen flows into chosen receive queues (`ethtool -n, -N`).

A NIC that has rules already is an error: ethtool's output is not enough to restore them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import integer, options

_FILTER = re.compile(r"^Filter: (?P<id>[0-9]+)\n(?P<lines>(?:[ \t].*\n?)*)", re.MULTILINE)
_RINGS = re.compile(r"^([0-9]+) RX rings available", re.MULTILINE)

_REMOVE = r"""root=; [ "$(id -u)" = 0 ] || root="sudo -n --"
status=0
for rule in $(ethtool -n "$1" | sed -n 's/^Filter: \([0-9][0-9]*\)$/\1/p'); do
    $root ethtool -N "$1" delete "$rule" || status=1
done
exit $status"""

_PORT: Mapping[str, Any] = integer(1, 65535)
_ADDRESS: Mapping[str, Any] = {
    "type": "string",
    "pattern": r"^[0-9a-fA-F][0-9a-fA-F:.]{1,44}$(?!\n)",
}
_FIELDS = {
    "source": ("src-ip", "Src IP addr"),
    "destination": ("dst-ip", "Dest IP addr"),
    "source_port": ("src-port", "Src port"),
    "port": ("dst-port", "Dest port"),
}

_NO_MASK = ("0.0.0.0", "0x0", "::")  # noqa: S104 - a mask, not a bind
"""Masks of an exact match: ethtool prints the bits to ignore."""


class Ntuple(Setting):
    """`ntuple: {flows: [{port: 5001, queue: 2}]}`."""

    name = "ntuple"
    traits = Traits(tried=True)
    schema: Mapping[str, Any] = options(
        {
            "flows": {
                "type": "array",
                "minItems": 1,
                "maxItems": 16,
                "description": "A list of rules. The NIC has no other rules during the runs.",
                "items": options(
                    {
                        "protocol": {"enum": ["tcp", "udp"], "default": "tcp"},
                        "family": {"enum": ["ipv4", "ipv6"], "default": "ipv4"},
                        "port": {**_PORT, "description": "Destination port."},
                        "source_port": {**_PORT, "description": "Source port."},
                        "source": {**_ADDRESS, "description": "Source address."},
                        "destination": {**_ADDRESS, "description": "Destination address."},
                        "queue": integer(0, 9999, "The receive queue, from 0."),
                    },
                    required=("queue",),
                    minProperties=2,
                ),
            }
        },
        required=("flows",),
        title="Receive queues of chosen flows (ntuple filters)",
        description="As in ethtool -N. Some drivers need `offload: {ntuple: on}` before it.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ethtool", "-n", interface))

    def state(self, completed: Completed) -> State:
        """Return {"rings": n, "rules": {number: {field as ethtool prints it: value}}}."""
        rings = _RINGS.search(completed.stdout)
        if completed.status != 0 or not rings or "Total" not in completed.stdout:
            raise self.shows_none(completed)
        rules = {
            match["id"]: dict(
                line.strip().split(": ", 1) for line in match["lines"].splitlines() if ": " in line
            )
            for match in _FILTER.finditer(completed.stdout)
        }
        return {"rings": int(rings[1]), "rules": rules}

    def check_found(self, interface: str, state: State) -> None:
        if state["rules"]:
            raise self.error(
                f"{interface} has {len(state['rules'])} rules already; remove them "
                f"(`ethtool -N {interface} delete NUMBER`), or leave `ntuple` out for this host"
            )

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        flows = wanted["flows"]
        if state and (most := max(flow["queue"] for flow in flows)) >= state["rings"]:
            raise self.error(
                f"{interface} has {state['rings']} receive queues, and no queue {most}"
            )
        rules = state["rules"] if state else {}
        surplus = [n for n, rule in rules.items() if not any(_is(rule, flow) for flow in flows)]
        missing = [flow for flow in flows if not any(_is(rule, flow) for rule in rules.values())]
        return (
            *(Command(("ethtool", "-N", interface, "delete", n), sudo=True) for n in surplus),
            *(Command(("ethtool", "-N", interface, *_words(flow)), sudo=True) for flow in missing),
        )

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        flows, rules = wanted["flows"], state["rules"]
        return (
            *(
                f"no rule puts {' '.join(_words(flow)[1:-2])} into queue {flow['queue']}"
                for flow in flows
                if not any(_is(rule, flow) for rule in rules.values())
            ),
            *(
                f"rule {number} belongs to no wanted flow"
                for number, rule in rules.items()
                if not any(_is(rule, flow) for flow in flows)
            ),
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """Return a script that removes all rules; `check_found` made sure that all are ours.

        The script itself finds their numbers, since a guard does not know them.
        """
        if state and not self.differences(original, state):
            return ()
        by_hand = tuple(
            Command(("ethtool", "-N", interface, "delete", number), sudo=True)
            for number in (state["rules"] if state else ())
        )
        script = ("sh", "-c", _REMOVE, "remove rules", interface)
        return (Command(script, by_hand=by_hand),)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        surplus = state["rules"].keys() - original["rules"].keys()
        return tuple(f"rule {number} is there" for number in sorted(surplus))

    def faults(self, state: State) -> Iterator[str]:
        if state["rules"]:
            yield "rules of a NIC are not written again"


def _words(flow: Mapping[str, Any]) -> tuple[str, ...]:
    kind = f"{flow.get('protocol', 'tcp')}{flow.get('family', 'ipv4')[-1]}"
    named = [w for name, (word, _) in _FIELDS.items() if name in flow for w in (word, flow[name])]
    return ("flow-type", kind, *map(str, named), "action", str(flow["queue"]))


def _is(rule: Mapping[str, str], flow: Mapping[str, Any]) -> bool:
    """Return True if a rule that `ethtool -n` printed directs exactly the wanted flow."""
    family = "IPv6" if flow.get("family") == "ipv6" else "IPv4"
    if rule.get("Rule Type") != f"{flow.get('protocol', 'tcp').upper()} over {family}":
        return False
    if rule.get("Action") != f"Direct to queue {flow['queue']}":
        return False
    for name, (_, line) in _FIELDS.items():
        value, _, mask = rule.get(line, "").partition(" mask: ")
        exact = mask in _NO_MASK
        if exact != (name in flow) or (exact and value.lower() != str(flow[name]).lower()):
            return False
    return True
