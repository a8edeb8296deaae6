"""Background load of the host's CPUs: stress-ng, with a number of workers for each CPU.

The load outlives the command that starts it. It ends after `hours` even if nothing restores the
host. A file next to the notes, named after the network namespace, records its process. A process
counts as ours only if it has the recorded id and start time, and a command line of stress-ng. Only
the process group of this process is ever killed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.model import Command, Completed
from netlimits.model.state_folder import FOLDER
from netlimits.settings._base import Setting, State
from netlimits.settings._schema import DEFAULT_HOURS, hours, integer, options
from netlimits.settings._values import is_number

_OURS = (
    FOLDER
    + r"""
f=$d/load-$(readlink /proc/self/ns/net | tr -cd 0-9)
cpus=$(grep -c '^cpu[0-9]' /proc/stat)
ours() {
    [ -f "$f" ] && read -r pid began each share method until <"$f" || return 1
    { read -r stat </proc/"$pid"/stat; } 2>/dev/null || return 1
    set -- ${stat##*) }
    [ "${20}" = "$began" ] || return 1
    case $(tr '\0' ' ' </proc/"$pid"/cmdline) in "stress-ng --cpu "*) ;; *) return 1 ;; esac
}
workers() { ps -o s=,comm= -s "$pid" | grep -c '^[^Z] *stress-ng-cpu'; }
"""
)
"""Define the shell function `ours`, which succeeds if our load still runs.

It sets $pid, $each (workers per CPU), $share, $method and $until.
"""

_READ = (
    _OURS
    + r"""echo "cpus $cpus"
for program in stress-ng setsid ps; do
    command -v "$program" >/dev/null || echo "missing $program"
done
if ours; then
    read -r up rest </proc/uptime
    echo "load $each $share $method $((until - ${up%.*})) $(workers)"
elif [ -e "$f" ]; then
    echo "over"
fi"""
)

_SET = (
    _OURS
    + r"""left() { ps -o s= -s "$pid" | grep -q '^[^Z]'; }
end() {
    kill -s TERM -- "-$pid"
    n=0
    while left && [ "$n" -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
    ! left || kill -s KILL -- "-$pid"
}
! ours || end
rm -f "$f" "$f.log"
if [ "$1" -gt 0 ]; then
    mkdir -p "$d" && cd "$d" || exit 1
    setsid sh -c '
        began=$(cut -d " " -f 22 /proc/$$/stat)
        read -r up rest </proc/uptime
        echo "$$ $began $3 $4 $5 $((${up%.*} + $6))" >"$1.new" && mv "$1.new" "$1" || exit 1
        exec stress-ng --cpu "$2" --cpu-load "$4" --cpu-method "$5" --timeout "$6s"
    ' sh "$f" $((cpus * $1)) "$@" </dev/null >"$f.log" 2>&1 9<&- &
    n=0
    while [ "$n" -lt 100 ]; do
        if ours && [ "$(workers)" -eq $((cpus * $1)) ]; then exit 0; fi
        case $(ps -o s= -p "$!") in '' | Z*) break ;; esac
        sleep 0.1
        n=$((n + 1))
    done
    cat "$f.log" >&2
    ! ours || end
    rm -f "$f" "$f.log"
fi
rmdir "$d" 2>/dev/null
[ "$1" -eq 0 ]"""
)
"""End our load if it runs. Then start $1 workers per CPU at $2 % with method $3, for $4 s.

If $1 is 0, start nothing. The load must close descriptor 9, the lock for changes of the host.
"""

_LINE = re.compile(r"^load (\d+) (\d+) (\S+) (-?\d+) (\d+)$", re.MULTILINE)


class Load(Setting):
    """`load: {workers_per_cpu: 2}`."""

    name = "load"
    schema: Mapping[str, Any] = options(
        {
            "workers_per_cpu": integer(0, 64, "Busy processes for each online CPU; 0: no load."),
            "cpu_load": integer(
                1,
                100,
                "Share of the time that each process is busy, percent (stress-ng --cpu-load).",
                default=100,
            ),
            "method": {
                "type": "string",
                "pattern": r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,39}$(?!\n)",
                "default": "all",
                "description": "What each process computes (stress-ng --cpu-method): all methods "
                "in turn, or one such as sqrt or matrixprod.",
            },
            "hours": hours(
                "Time after which stress-ng ends by itself, in case every connection is lost. "
                "Before a run it is restarted if half of this time is over, so a run may take up "
                "to half of it."
            ),
        },
        required=("workers_per_cpu",),
        title="Background load of the host's CPUs",
        description="stress-ng must be installed on the host. It needs no root.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _READ))

    def state(self, completed: Completed) -> State:
        """Return our load: the workers requested per CPU, and the total "running"."""
        cpus = re.search(r"^cpus ([1-9]\d*)$", completed.stdout, re.MULTILINE)
        if completed.status != 0 or not cpus:
            raise self.unreadable(completed)
        each, share, method, left, running = "0", "0", "", "0", "0"
        if load := _LINE.search(completed.stdout):
            each, share, method, left, running = load.groups()
        return {
            "cpus": int(cpus[1]),
            "missing": re.findall(r"^missing (\S+)$", completed.stdout, re.MULTILINE),
            "workers_per_cpu": int(each),
            "cpu_load": int(share),
            "method": method,
            "seconds_left": int(left),
            "running": int(running),
            # the load ended by itself and left its file
            **({"over": True} if re.search(r"^over$", completed.stdout, re.MULTILINE) else {}),
        }

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        seconds = math.ceil(wanted.get("hours", DEFAULT_HOURS) * 3600)
        if not wanted["workers_per_cpu"]:
            return _set(0) if not state or self.unmet(state, wanted) else ()
        if state and state["missing"]:
            raise self.error(
                f"no {', '.join(state['missing'])} there; install it (Debian and Ubuntu: "
                "stress-ng, util-linux, procps)"
            )
        if state and not self.unmet(state, wanted) and state["seconds_left"] >= seconds / 2:
            return ()
        share, method = wanted.get("cpu_load", 100), wanted.get("method", "all")
        return _set(wanted["workers_per_cpu"], share, method, seconds)

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        kind = {"cpu_load": wanted.get("cpu_load", 100), "method": wanted.get("method", "all")}
        return _unlike(state, {"workers_per_cpu": wanted["workers_per_cpu"], **kind}, "not")

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """Return the command that ends our load, and starts an original load again.

        The load that is started again runs for the time that the original had left, at least 60 s.
        """
        if state and not self.differences(original, state) and "over" not in state:
            return ()
        if not original["workers_per_cpu"]:
            return _set(0)
        left = max(60, original["seconds_left"])
        return _set(original["workers_per_cpu"], original["cpu_load"], original["method"], left)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        return _unlike(state, original, "was")

    def faults(self, state: State) -> Iterator[str]:
        properties = self.schema["properties"]
        each = state["workers_per_cpu"]
        if not is_number(each, properties["workers_per_cpu"]["maximum"] + 1):
            yield f"{each!r} is no number of workers for each CPU"
        elif each:
            if not is_number(state["cpu_load"], 101) or not state["cpu_load"]:
                yield f"{state['cpu_load']!r} % is no load"
            if not re.search(properties["method"]["pattern"], state["method"]):
                yield f"{state['method'][:40]!r} is no method"
            left = state["seconds_left"]
            if left > 0 and not is_number(left, 168 * 3600 + 1):
                yield f"{left!r} is no number of seconds left"


def _unlike(state: State, like: Mapping[str, Any], word: str) -> tuple[str, ...]:
    """Return a message for each difference of the load from `like`, such as "…, not 8".

    `word` ("not" or "was") precedes the values of `like`. Share and method are compared only if
    `like` has workers.
    """
    each = like["workers_per_cpu"]
    if state["running"] != each * state["cpus"] or state["workers_per_cpu"] != each:
        return (f"{state['running']} workers run, {word} {each * state['cpus']}",)
    return tuple(
        f"{name} is {state[name]}, {word} {like[name]}"
        for name in ("cpu_load", "method")
        if each and state[name] != like[name]
    )


def _set(each: int, share: int = 0, method: str = "-", seconds: int = 0) -> tuple[Command, ...]:
    about = "stress-ng: workers per CPU, % busy, method, seconds"
    words = (str(each), str(share), method, str(seconds))
    return (Command(("sh", "-c", _SET, about, *words), deadline=60),)
