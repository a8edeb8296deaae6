"""Whether a state that was written down may be put back: by the rules of its setting.

A journal may come from somebody else, and a note from a host that is not ours alone. So what they
hold is not only of the right shape: its names and values are held to the setting's own schema, to
the grammar of what `ip`, `tc` and `ethtool` are told, and to what `settings:` refuses to set.
"""

from __future__ import annotations

from netlimits.settings import State, setting


def fault(name: str, state: State, *, ours: bool = True) -> str:
    """Why a state of a setting is not put back, in words; "" when it may be.

    `ours` says that a netlimits of this user wrote it down: then what a change of the MTU resets
    in the kernel (an interface's own forwarding, say) may be put back, which nobody may ask for.
    """
    try:
        reason = next(iter(setting(name).faults(state, ours=ours)), "")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return f"what is written down is no state of {name}"
    return f"what is written down may not be set: {reason}" if reason else ""
