"""A user-defined switch: the user's commands change its position, and print it.

The command `verify` prints the switch's position on the host as one line. `command` has a command
for each position, which sets it. So the command to restore a position is known before any change.
Exit statuses are ignored, since systemctl exits 3 when it prints `inactive`. The commands run as
the login user; a command that needs root must begin with `sudo -n`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from netlimits.errors import SettingError, one_line
from netlimits.model import Command, Completed, decoding
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import options

LONGEST = 60.0
"""Deadline of a command in seconds, during which no other change of the host can be made."""

_POSITION = r"^[!-~]([ -~]{0,98}[!-~])?$(?!\n)"
_WORD = r"^[^\x00-\x1f\x7f]{1,1000}$(?!\n)"

_READ = r"""
while [ $# -gt 0 ]; do
    printf 'switch %s\n' "$1"
    n=$2 words= i=0
    shift 2
    while [ "$i" -lt "$n" ]; do
        i=$((i + 1))
        words="$words \"\${$i}\""
    done
    printf 'position %s\n' "$(eval "$words" </dev/null 9<&- | head -c 400 | tr '\n\r\t' '   ')"
    shift "$n"
done
"""
"""Print the commands (as JSON) and the position of each switch.

The arguments for each switch are this JSON, the number of words of `verify`, and the words. `eval`
gets references such as "${3}", never the words themselves.
"""

_RUN = 'exec "$@" </dev/null 9<&-'
"""Run a command with descriptor 9 closed, the lock for changes of the host.

Otherwise a process that the command leaves behind would keep the lock.
"""

_WORDS: Mapping[str, Any] = {
    "type": "array",
    "minItems": 1,
    "maxItems": 100,
    "items": {"type": ["string", "integer"], "pattern": _WORD},
}


class _Words(TypedDict):
    verify: list[str]
    command: dict[str, list[str]]


class Switch(Setting):
    """`switch: {verify: [WORDS], command: {old: [WORDS], new: [WORDS]}, to: new}`."""

    name = "switch"
    traits = Traits(runs_commands=True, restarts=True, changes_path=True)
    schema: Mapping[str, Any] = options(
        {
            "verify": {
                **_WORDS,
                "description": "A command that prints the host's current position as one line, "
                "and changes nothing.",
            },
            "command": {
                "type": "object",
                "description": "Each position, as `verify` prints it, with the command that "
                "switches to it, as a list of words. The position that is found must be among "
                "them, so that it can be restored.",
                "minProperties": 2,
                "propertyNames": {
                    "pattern": _POSITION,
                    "description": "a position is one line, of at most 100 characters",
                },
                "additionalProperties": _WORDS,
            },
            "to": {
                "type": ["string", "integer"],
                "pattern": _POSITION,
                "description": "The position to switch to.",
            },
        },
        required=("verify", "command", "to"),
        title="A module, a service, or anything else that your own commands switch",
        description="The commands run as the login; begin them with sudo and -n if they need "
        "root. netlimits restores only the position, and nothing else that they change.",
    )

    def read(self, interface: str, about: Any) -> Command:
        parts = [_part(about)] if "to" in about else [dict(part) for part in about.values()]
        words: list[str] = []
        for part in parts:
            verify = part["verify"]
            own = {key: part[key] for key in ("verify", "command")}
            words += [json.dumps(own, separators=(",", ":")), str(len(verify)), *verify]
        return Command(("sh", "-c", _READ, self.name, *words), deadline=LONGEST)

    def state(self, completed: Completed) -> State:
        """Return {words of `verify` as one text: {"position": …, "verify": …, "command": …}}."""
        state: dict[str, Any] = {}
        lines = completed.stdout.splitlines()
        for about, position in zip(lines[::2], lines[1::2], strict=False):
            part, is_in = _printed(about), one_line(position.removeprefix("position "))
            if part is None or not position.startswith("position "):
                break
            verify = shlex.join(part["verify"])
            if not is_in:
                why = completed.stderr and completed.complaint
                raise self.error(
                    f"`{verify}` prints no position{f': {why}' if why else ''}; run it there by "
                    "hand: it has to print one line",
                    completed,
                )
            state[verify] = {"position": is_in, **part}
        if not state:
            raise self.unreadable(completed)
        return state

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        part, to = _part(wanted), str(wanted["to"])
        if to not in part["command"]:
            raise self.error(
                f"no command leads to {to}; `command` has {' and '.join(part['command'])}"
            )
        verify = shlex.join(part["verify"])
        if state and (is_in := _position(state, verify)) not in part["command"]:
            raise self.error(
                f"`{verify}` says {is_in}, and no command leads back there; add that to `command`"
            )
        if state and _position(state, verify) == to:
            return ()
        return (_run(part["command"][to]),)

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        verify, to = shlex.join(_part(wanted)["verify"]), str(wanted["to"])
        is_in = _position(state, verify)
        return () if is_in == to else (f"`{verify}` says {is_in}, not {to}",)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """Return the command that leads to each original position, the last switch first."""
        return tuple(
            _run(part["command"][part["position"]])
            for verify, part in reversed([*original.items()])
            if state.get(verify, {}).get("position") != part["position"]
            and part["position"] in part["command"]
        )

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        return tuple(
            f"`{verify}` says {_position(state, verify)}, was {part['position']}"
            for verify, part in original.items()
            if _position(state, verify) != part["position"]
        )

    def faults(self, state: State) -> Iterator[str]:
        for verify, part in state.items():
            every = (part["verify"], *part["command"].values())
            if (
                not all(_are_words(words) for words in every)
                or shlex.join(part["verify"]) != verify
            ):
                yield f"{verify[:80]!r} is no command of a switch"
            elif not all(re.search(_POSITION, position) for position in part["command"]):
                yield "a position is one line"
            elif part["position"] not in part["command"]:
                yield f"no command leads to {part['position'][:80]!r}"


def _position(state: State, verify: str) -> str:
    if verify not in state:
        raise SettingError(f"`{verify}` was not asked for its position", setting=Switch.name)
    return str(state[verify]["position"])


def _printed(line: str) -> dict[str, Any] | None:
    """Parse a line with the JSON that the script of `read` echoes; None for another line."""
    try:
        part = decoding.parsed(line.removeprefix("switch "))
    except ValueError:
        return None
    return part if decoding.has(part, _Words) else None


def _are_words(words: Any) -> bool:
    return (
        isinstance(words, list)
        and bool(words)
        and all(isinstance(word, str) and re.search(_WORD, word) for word in words)
    )


def _part(wanted: Any) -> dict[str, Any]:
    """Return the commands of a switch's options, with every word as a string."""
    return {
        "verify": [str(word) for word in wanted["verify"]],
        "command": {
            position: [str(word) for word in words] for position, words in wanted["command"].items()
        },
    }


def _run(words: Sequence[str]) -> Command:
    script = ("sh", "-c", _RUN, Switch.name, *words)
    return Command(script, deadline=LONGEST, by_hand=(Command((*words,)),))
