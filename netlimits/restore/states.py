"""Whether a state that was written down may be restored: by the rules of its setting.

A journal may come from somebody else, and a note from a host that is not ours alone. So what they
hold is not only of the right shape: its names and values are held to the setting's own schema, to
the grammar of what `ip`, `tc` and `ethtool` are told, and to what `settings:` refuses to set.
"""

from __future__ import annotations

from netlimits.settings import OF_COMMANDS, State, setting
from netlimits.settings.sysctl import MOVES_MORE


def fault(name: str, state: State) -> str:
    """Why a state of a setting is not restored, in words; "" when it may be."""
    try:
        reason = next(iter(setting(name).faults(state)), "")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return f"what is written down is no state of {name}"
    return f"what is written down may not be set: {reason}" if reason else ""


def ours_alone(name: str) -> str:
    """Why only who changed a setting restores it, and no stranger's folder; "" where it may."""
    if name not in OF_COMMANDS:
        return ""
    return (
        "its commands are not run from somebody else's folder; `netlimits restore --hosts FILE` "
        "does it from the host's own notes"
    )


def settable(name: str, state: State) -> State:
    """The parts of somebody else's state that are restored: none that `settings:` refuses.

    A change of the MTU resets sysctls of the interface's IPv6 that nobody may ask for: they change
    addresses, routes or other sysctls. Only who wrote them down restores these.
    """
    if name != "mtu":
        return state
    conf = {n: v for n, v in state["ipv6"]["conf"].items() if not _moves_more(n)}
    return {**state, "ipv6": {**state["ipv6"], "conf": conf}}


def _moves_more(name: str) -> bool:
    leaf = name.rpartition("/")[2]
    return leaf != "mtu" and bool(MOVES_MORE.search(f".{leaf}"))
