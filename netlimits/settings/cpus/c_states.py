"""Limit how deeply idle CPUs sleep, by a wake-up latency written to /dev/cpu_dma_latency.

The limit holds while a process has the file open. A background `tee` holds the file open until a
`sleep` ends. So the limit ends after `hours` even if nothing restores it. A file next to the notes
records the process, as for `load`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.model import Command, Completed
from netlimits.model.state_folder import FOLDER
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import DEFAULT_HOURS, hours, integer, options
from netlimits.settings._values import is_number

_OURS = (
    FOLDER
    + r"""
f=$d/c-states-$(readlink /proc/self/ns/net | tr -cd 0-9)
ours() {
    [ -f "$f" ] && read -r pid began latency until <"$f" || return 1
    { read -r stat </proc/"$pid"/stat; } 2>/dev/null || return 1
    set -- ${stat##*) }
    [ "${20}" = "$began" ] && held
}
held() { ps -o comm= -s "$pid" | grep -qx 'tee\|sudo'; }
"""
)
"""Define the shell function `ours`, which succeeds if our process still has the file open.

It sets $pid and $latency.
"""

_READ = (
    _OURS
    + r"""
[ -c /dev/cpu_dma_latency ] && echo "device"
read -r driver 2>/dev/null </sys/devices/system/cpu/cpuidle/current_driver && echo "driver $driver"
for program in setsid ps; do command -v "$program" >/dev/null || echo "missing $program"; done
if ours; then
    read -r up rest </proc/uptime
    echo "held $latency $((until - ${up%.*}))"
fi
if [ "$uid" = 0 ] && v=$(od -An -td4 -N4 /dev/cpu_dma_latency 2>/dev/null); then
    echo "kernel" $v
fi
:"""
)

_SET = (
    _OURS
    + r"""
if [ -f "$f" ] && read -r pid began latency until <"$f"; then
    if ours; then kill -s TERM -- "-$pid"; fi
    n=0
    while ours && [ "$n" -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
    rm -f "$f"
fi
if [ "$1" != - ]; then
    mkdir -p "$d" && cd "$d" || exit 1
    root=; [ "$uid" = 0 ] || root="sudo -n --"
    setsid sh -c '
        began=$(cut -d " " -f 22 /proc/$$/stat)
        read -r up rest </proc/uptime
        echo "$$ $began $2 $((${up%.*} + $3))" >"$1.new" && mv "$1.new" "$1" || exit 1
        { printf "%08x\n" "$2"; exec sleep "$3"; } | $4 tee /dev/cpu_dma_latency
    ' sh "$f" "$1" "$2" "$root" </dev/null >/dev/null 2>"$f.log" 9<&- &
    n=0
    while [ "$n" -lt 50 ]; do
        if [ -s "$f.log" ]; then cat "$f.log" >&2; break; fi
        if ours; then n=100; sleep 0.1; fi
        sleep 0.1
        n=$((n + 1))
    done
    rm -f "$f.log"
    ours
fi
s=$?
rmdir "$d" 2>/dev/null
exit $s"""
)
"""End our process if it runs. Then limit the latency to $1 µs for at most $2 s, unless $1 is `-`.

The new process must close descriptor 9, which is the lock for changes of the host.
"""

_HELD = re.compile(r"^held ([0-9]+) (-?[0-9]+)$", re.MULTILINE)


class CStates(Setting):
    """`c_states: {latency_us: 0}`."""

    name = "c_states"
    traits = Traits(tried=True)
    schema: Mapping[str, Any] = options(
        {
            "latency_us": integer(
                0,
                2_000_000_000,
                "Microseconds that a CPU may take to wake up; 0: CPUs never sleep.",
            ),
            "hours": hours(
                "Time after which it ends by itself, in case every connection is lost. Before a "
                "run it is restarted if half of this time is over."
            ),
        },
        required=("latency_us",),
        title="Sleep states of idle CPUs",
        description="netlimits holds /dev/cpu_dma_latency open with this latency.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _READ))

    def state(self, completed: Completed) -> State:
        """Return what the host supports, and the "latency_us" that we set (None: no limit)."""
        if completed.status != 0:
            raise self.unreadable(completed)
        text = completed.stdout
        held = _HELD.search(text)
        driver = re.search(r"^driver (\S+)$", text, re.MULTILINE)
        kernel = re.search(r"^kernel (-?[0-9]+)$", text, re.MULTILINE)
        return {
            "device": re.search("^device$", text, re.MULTILINE) is not None,
            "driver": driver[1] if driver else "none",
            "missing": re.findall(r"^missing (\S+)$", text, re.MULTILINE),
            "latency_us": int(held[1]) if held else None,
            "seconds_left": int(held[2]) if held else 0,
            "kernel_us": int(kernel[1]) if kernel else None,
        }

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        seconds = math.ceil(wanted.get("hours", DEFAULT_HOURS) * 3600)
        if state and (not state["device"] or state["driver"] == "none"):
            lacks = "idle states" if state["device"] else "/dev/cpu_dma_latency"
            raise self.error(
                f"the host has no {lacks} to choose (a guest mostly has none); leave `c_states` "
                "out for it"
            )
        if state and state["missing"]:
            raise self.error(
                f"no {', '.join(state['missing'])} there; install it (Debian and Ubuntu: "
                "util-linux, procps)"
            )
        if state and not self.unmet(state, wanted) and state["seconds_left"] >= seconds / 2:
            return ()
        return _set(str(wanted["latency_us"]), str(seconds))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        latency, kernel = wanted["latency_us"], state["kernel_us"]
        if state["latency_us"] != latency:
            held = "nothing" if state["latency_us"] is None else f"{state['latency_us']} µs"
            return (f"{held} is held, not {latency} µs",)
        if kernel is not None and kernel > latency:
            return (f"the kernel allows {kernel} µs, not {latency}",)
        return ()

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        if state and not self.differences(original, state):
            return ()
        if original["latency_us"] is None:
            return _set("-", "0")
        return _set(str(original["latency_us"]), str(max(60, original["seconds_left"])))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        if state["latency_us"] == original["latency_us"]:
            return ()
        return (f"{state['latency_us']} µs is held, was {original['latency_us']}",)

    def faults(self, state: State) -> Iterator[str]:
        latency, left = state["latency_us"], state["seconds_left"]
        if latency is not None and not is_number(latency, 2_000_000_001):
            yield f"{str(latency)[:40]!r} is no latency"
        elif latency is not None and left > 0 and not is_number(left, 168 * 3600 + 1):
            yield f"{str(left)[:40]!r} is no number of seconds left"


def _set(latency: str, seconds: str) -> tuple[Command, ...]:
    words = ("hold /dev/cpu_dma_latency: µs, seconds", latency, seconds)
    device = Command(("tee", "/dev/cpu_dma_latency"), sudo=True)
    return (
        Command(
            ("sh", "-c", _SET, *words), deadline=60, by_hand=() if latency == "-" else (device,)
        ),
    )
