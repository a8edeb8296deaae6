"""Check that a recorded state may be restored, by the rules of its setting.

A journal may come from somebody else, and other users may write to the host of a note. So a state
needs more than the right shape: its names and values must fit the setting's own schema, the grammar
of `ip`, `tc` and `ethtool`, and must not be ones that `settings:` refuses.
"""

from __future__ import annotations

from netlimits.settings import OF_COMMANDS, State, setting
from netlimits.settings.sysctl import MOVES_MORE


def fault(name: str, state: State) -> str:
    """Return why a state of a setting must not be restored, or ""."""
    try:
        reason = next(iter(setting(name).faults(state)), "")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return f"the recorded state is not one of {name}"
    return f"the recorded state may not be set: {reason}" if reason else ""


def owner_only(name: str) -> str:
    """Return why a stranger's results folder must not restore a setting, or ""."""
    if name not in OF_COMMANDS:
        return ""
    return (
        "its commands are not run from somebody else's folder; `netlimits restore --hosts FILE` "
        "restores it from the host's own notes"
    )


def settable(name: str, state: State) -> State:
    """Return the parts of another user's state that may be restored: none that `settings:` refuses.

    A change of the MTU resets sysctls of the interface's IPv6 that no experiment may set: they
    change addresses, routes or other sysctls. They are restored only for the user who recorded
    them.
    """
    if name != "mtu":
        return state
    conf = {n: v for n, v in state["ipv6"]["conf"].items() if not _moves_more(n)}
    return {**state, "ipv6": {**state["ipv6"], "conf": conf}}


def _moves_more(name: str) -> bool:
    leaf = name.rpartition("/")[2]
    return leaf != "mtu" and bool(MOVES_MORE.search(f".{leaf}"))
