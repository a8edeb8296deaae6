"""Speed, duplex and autonegotiation of the NIC's link, through `ethtool` and `ethtool -s`.

With autonegotiation on, only the modes of the wanted speed are advertised: 2.5GBASE-T and faster
copper cannot be forced. A virtual NIC has no modes: virtio accepts any speed without effect, and
veth rejects every change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings import carrier
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import if_fixed, integer, options, switch
from netlimits.settings._values import is_number

_FIELD = re.compile(r"^\t(?P<name>[A-Z][A-Za-z -]*): +(?P<value>.*?)\s*$")
_MORE = re.compile(r"^\t {8,}(?P<value>\S.*?)\s*$")
MODE = re.compile(r"(?P<speed>[0-9]+)base[A-Za-z0-9]*/(?P<duplex>Half|Full)")
_WORD = re.compile(rf"[0-9]{{1,10}}|half|full|on|off|speed|duplex|autoneg|advertise|{MODE.pattern}")


class Link(Setting):
    """`link: {speed: 2500, duplex: full, autoneg: on}`."""

    name = "link"
    traits = Traits(watched="partly", restarts=True, drops_carrier=True, changes_path=True)
    schema: Mapping[str, Any] = options(
        {
            "speed": integer(1, 2**31 - 1, "Mbit/s, such as 2500; the NIC must support it."),
            "duplex": {"enum": ["half", "full"]},
            "autoneg": switch(
                "on: advertise only modes of this speed; off: force the speed, which 2.5GBASE-T "
                "and faster copper do not allow. Default: as found."
            ),
            "if_fixed": if_fixed("What to do if the interface has no modes to choose from."),
        },
        title="Speed, duplex and autonegotiation of the data interface's link",
        description="As in ethtool -s. Virtual interfaces do not have them.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ethtool", interface))

    def state(self, completed: Completed) -> State:
        """Return the state; `speed` (Mbit/s) is None and `duplex` "" while there is no carrier."""
        fields = _fields(completed.stdout)
        if completed.status not in (0, 75) or "Supported link modes" not in fields:
            raise self.shows_none(completed)
        speed = re.fullmatch(r"([0-9]{1,10})Mb/s", fields.get("Speed", ""))
        duplex = fields.get("Duplex", "").lower()
        return {
            "speed": int(speed[1]) if speed else None,
            "duplex": duplex if duplex in ("half", "full") else "",
            "autoneg": "on" if fields.get("Auto-negotiation") == "on" else "off",
            "supported": _modes(fields["Supported link modes"]),
            "advertised": _modes(fields.get("Advertised link modes", "")),
        }

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        if not state:
            words = {name: wanted.get(name) for name in ("speed", "duplex")}
            return _force(interface, words["speed"], words["duplex"], wanted.get("autoneg", "on"))
        if not self.unmet(state, wanted):
            return ()
        if not state["supported"]:
            raise self.error(_virtual_problem(interface, state))
        autoneg = wanted.get("autoneg", state["autoneg"])
        fitting = [m for m in state["supported"] if _fits(m, wanted)]
        if not fitting:
            raise self.error(
                f"{interface} supports {_shown(state['supported'])}, and none is {_words(wanted)}; "
                "ask for one of them"
            )
        if autoneg == "on":
            return _advertise(interface, state["supported"], fitting)
        speed, duplex = (wanted.get(name, state[name]) for name in ("speed", "duplex"))
        return _force(interface, speed, duplex)

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Return a message for each differing value, and for other modes that are advertised."""
        if not state["supported"] and wanted.get("if_fixed") == "accept":
            return ()
        problems = [
            f"{name} is {_shown(state[name])}, not {wanted[name]}"
            for name in ("speed", "duplex", "autoneg")
            if name in wanted and state[name] != wanted[name]
        ]
        others = [mode for mode in state["advertised"] if not _fits(mode, wanted)]
        if state["autoneg"] == "on" and others and not problems:
            problems.append(f"{' '.join(others)} could be negotiated too")
        return tuple(problems)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        if (state and not self.differences(original, state)) or not original["supported"]:
            return ()
        if original["autoneg"] == "on":
            return _advertise(interface, original["supported"], original["advertised"])
        return _force(interface, original["speed"], original["duplex"])

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Compare autonegotiation, speed and duplex, and the advertised modes.

        The modes count only if autonegotiation was on. Speed and duplex count only if the link had
        a carrier.
        """
        names = ["autoneg", "advertised"] if original["autoneg"] == "on" else ["autoneg"]
        if original["speed"] is not None:  # a link that had no carrier has no speed to compare
            names += ["speed", "duplex"]
        return tuple(
            f"{name} is {_shown(state[name])}, was {_shown(original[name])}"
            for name in names
            if state[name] != original[name]
        )

    def faults(self, state: State) -> Iterator[str]:
        if state["autoneg"] not in ("on", "off") or state["duplex"] not in ("half", "full", ""):
            yield "its duplex or autonegotiation has no legal value"
        if state["speed"] is not None and not is_number(state["speed"], 2**31):
            yield f"{state['speed']!r} is no speed"
        for mode in (*state["supported"], *state["advertised"]):
            if not MODE.fullmatch(mode):
                yield f"{mode[:40]!r} is no link mode"


def _fields(text: str) -> dict[str, str]:
    """Return ethtool's fields by name; a list over several lines is joined."""
    fields: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if field := _FIELD.match(line):
            name = field["name"]
            fields[name] = field["value"]
        elif name and (more := _MORE.match(line)):
            fields[name] += f" {more['value']}"
    return fields


def _modes(text: str) -> list[str]:
    return [word for word in text.split() if MODE.fullmatch(word)]


def _fits(mode: str, wanted: Mapping[str, Any]) -> bool:
    match = MODE.fullmatch(mode)
    return match is not None and (
        wanted.get("speed", int(match["speed"])) == int(match["speed"])
        and wanted.get("duplex", match["duplex"].lower()) == match["duplex"].lower()
    )


def _advertise(interface: str, supported: Sequence[str], on: Sequence[str]) -> tuple[Command, ...]:
    modes = [word for m in supported for word in (m, "on" if m in on else "off")]
    return _set(interface, "autoneg", "on", "advertise", *modes)


def _force(
    interface: str, speed: int | None, duplex: str | None, autoneg: str = "off"
) -> tuple[Command, ...]:
    words = ["speed", f"{speed:d}"] if speed else []
    words += ["duplex", duplex] if duplex else []
    return _set(interface, *words, "autoneg", autoneg)


def _set(interface: str, *words: str) -> tuple[Command, ...]:
    """Return `ethtool -s` and a wait for the link. Raises SettingError for illegal words."""
    if strange := [word for word in words if not _WORD.fullmatch(word)]:
        raise SettingError(f"{strange[0]!r} is no speed, duplex or link mode", setting="link")
    return (
        Command(("ethtool", "-s", interface, *words), sudo=True),
        carrier.wait(interface),
    )


def _words(wanted: Mapping[str, Any]) -> str:
    words = [f"{wanted['speed']} Mbit/s"] if "speed" in wanted else []
    return " ".join([*words, *([f"{wanted['duplex']} duplex"] if "duplex" in wanted else [])])


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "unknown"
    return " ".join(value) if isinstance(value, list) else str(value)


def _virtual_problem(interface: str, state: State) -> str:
    is_ = f"{state['speed']} Mbit/s" if state["speed"] else "no speed"
    return (
        f"{interface} is a virtual interface: it shows {is_} and has no link modes to choose from; "
        "write `if_fixed: accept` to run with it as it is, or leave `link` out"
    )
