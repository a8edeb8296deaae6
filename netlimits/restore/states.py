"""Check that a recorded state may be restored, since another user may have written it."""

from __future__ import annotations

from netlimits.settings import State, setting
from netlimits.settings.sysctl import MOVES_MORE


def fault(name: str, state: State) -> str:
    """Return the reason why a state of a setting must not be restored, or ""."""
    try:
        reason = next(iter(setting(name).faults(state)), "")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return f"the recorded state is not one of {name}"
    return f"the recorded state may not be set: {reason}" if reason else ""


def owner_only(name: str) -> str:
    """Return the reason why a setting is not restored from another user's folder, or ""."""
    if not setting(name).traits.runs_commands:
        return ""
    return (
        "its commands are not run from somebody else's folder; `netlimits restore --hosts FILE` "
        "restores it from the host's own notes"
    )


def settable(name: str, state: State) -> State:
    """Return another user's state without the parts that an experiment may not set.

    These parts are sysctls in the state of `mtu` that change addresses or routes when written.
    """
    if name != "mtu":
        return state
    conf = {
        n: v
        for n, v in state["ipv6"]["conf"].items()
        if n.endswith("/mtu") or not MOVES_MORE.search(f".{n.rpartition('/')[2]}")
    }
    return {**state, "ipv6": {**state["ipv6"], "conf": conf}}
