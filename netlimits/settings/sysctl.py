"""Network sysctls, through `sysctl`.

Only sysctls under `net.` can be set, and only if a write changes nothing but them and `_MOVED`,
since nothing else is restored. The kernel rounds and ignores values silently, so every value is
read back. A sysctl that does not match `ALONE` is written by a script, which reads all network
sysctls before and after the write. If another sysctl changed, the script undoes both changes and
reports an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed, sysctl_tree
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import if_fixed, options

_LINE = re.compile(r"^(?P<name>net\.[^\s=]+) = ?(?P<value>.*)$")

NAME = re.compile(r"^net(\.[A-Za-z0-9_-]+)+$(?!\n)")
"""Names that may be set, and restored from a journal or a note: only those under net."""

MOVES_MORE = re.compile(
    r"\.(disable_ipv6|forwarding|mc_forwarding|ip_forward|addr_gen_mode|stable_secret|flush|mtu)$"
)
"""Names whose writing changes addresses, routes or other sysctls; for `mtu` there is a setting."""

_OF_EVERY_INTERFACE = re.compile(
    r"^net\.(ipv4\.conf|ipv[46]\.neigh)\.default\."
    r"|^net\.ipv6\.conf\.all\.(ignore_routes_with_linkdown|force_forwarding)$"
)

_ROUNDED = {
    "unres_qlen": "unres_qlen_bytes",
    "base_reachable_time": "base_reachable_time_ms",
    "retrans_time": "retrans_time_ms",
    "gc_min_interval": "gc_min_interval_ms",
}
"""Last part of a name -> last part of the sysctl that has the same value in finer units."""

_ONE_WAY = "net.netfilter.nf_hooks_lwtunnel"
"""A switch that the kernel resets only at a boot."""

ALONE = re.compile(r"^net\.(core\.[a-z_]+|ipv4\.(tcp|udp|icmp|igmp|ip)_[a-z_0-9]+)$")
"""Names that change no other sysctl, as tested by writing each on kernels 6.1 and 6.18."""

_MOVED = {"net.ipv4.tcp_congestion_control": "net.ipv4.tcp_allowed_congestion_control"}
"""Name -> sysctl that the kernel may change with it; both are read and restored.

The kernel adds a new default congestion control to those that every user may choose.
"""

_WRITE_WRITABLE = r"""root=; [ "$(id -u)" = 0 ] || root="sudo -n --"
case $(ls -l "/proc/sys/$(echo "${2%%=*}" | tr . /)") in -rw*) $root sysctl -w "$2" ;; esac"""
"""Write a sysctl unless it is read-only, as some are in a network namespace."""

_WRITE_WATCHED = r"""passing=$1; shift
root=; [ "$(id -u)" = 0 ] || root="sudo -n --"
tree() { grep -rs "" /proc/sys/net; }
dotted() { case $1 in *.*) echo "$1" ;; *) echo "$1" | tr / . ;; esac; }
before=$(tree)
status=0
$root sysctl -w "$@" </dev/null || status=$?
after=$(tree)
moved=$(printf '%s\n' "$before" | grep -vxF -f /dev/fd/3 3<<EOF
$after
EOF
)
others=$(printf '%s\n' "$moved" | while IFS= read -r line; do
    path=${line%%:*} value=${line#*:}
    now=$(cat "$path" 2>/dev/null) && [ "$now" != "$value" ] || continue
    name=$(dotted "${path#/proc/sys/}")
    for pair; do [ "${pair%%=*}" != "$name" ] || continue 2; done
    ! printf '%s\n' "$name" | grep -Eqx "$passing" || continue
    printf '%s\n' "$name=$value"
done)
[ -n "$others" ] || exit $status
own=$(for pair; do
    path=/proc/sys/$(echo "${pair%%=*}" | tr . /)
    printf '%s\n' "$before" | sed -n "s|^$path:|${pair%%=*}=|p"
done)
printf '%s\n' "$own" "$others" | while IFS= read -r pair; do
    $root sysctl -w "$pair" </dev/null >/dev/null
done
names=$(printf '%s\n' "$others" | sed 's/=.*//')
echo "it also changes" $names "and was undone; set it on the host before the campaign" >&2
exit 1"""


_VALUE: list[Mapping[str, Any]] = [
    {"type": "integer"},
    {
        "type": "string",
        "pattern": r"^[A-Za-z0-9_.,:/-]+"
        r"([ \t]+(-?[0-9]+|[A-Za-z0-9_.,:/][A-Za-z0-9_.,:/-]*))*$(?!\n)",
    },
]


class Sysctl(Setting):
    """`sysctl: {net.ipv4.tcp_congestion_control: cubic, net.core.rmem_max: 8388608}`."""

    name = "sysctl"
    traits = Traits(separate=True)
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "Network sysctls of the host",
        "description": "Names that begin with net. and their values, as sysctl prints them, "
        "written in this order. They apply to the whole host or its network namespace, not to one "
        "interface.",
        "minProperties": 1,
        "propertyNames": {
            "pattern": NAME.pattern,
            "description": "only network sysctls are set, such as net.core.rmem_max",
        },
        "additionalProperties": {
            "anyOf": [
                *_VALUE,
                options(
                    {
                        "want": {"anyOf": _VALUE},
                        "if_fixed": if_fixed(
                            "What to do if the host does not have this sysctl or cannot write it, "
                            "as in a network namespace."
                        ),
                    },
                    required=("want",),
                ),
            ]
        },
    }

    def read(self, interface: str, about: Any) -> Command:
        """Return `sysctl NAME …` for the names in `about` and the sysctls in `_MOVED`.

        The option `-e` is added if a sysctl may be missing: it ignores unknown names.
        """
        values = about.values() if isinstance(about, Mapping) else ()
        moved = [_MOVED[name] for name in about if name in _MOVED and _MOVED[name] not in about]
        may_miss = any(value is None or _accepts(value) for value in values)
        return Command(("sysctl", *(("-e",) if may_miss else ()), *moved, *about))

    def state(self, completed: Completed) -> State:
        """Return {name: value}, also for `_MOVED`; with `-e`, a missing sysctl is None."""
        values = {
            match["name"]: match["value"]
            for match in map(_LINE.match, completed.stdout.splitlines())
            if match
        }
        arguments = completed.command.argv[1:]
        missing = [
            name
            for name in arguments
            if name not in values and name != "-e" and name not in _MOVED.values()
        ]
        if missing and arguments[0] == "-e" and completed.status not in (126, 127):
            return {**dict.fromkeys(missing), **values}
        if missing:
            printed = completed.stderr and completed.complaint
            if completed.status in (126, 127):
                raise self.error(printed, completed)
            raise self.error(
                f"there is no {', '.join(missing)} (no such sysctl in this kernel, its module is "
                "not loaded, or not in this network namespace), or it cannot be read; see "
                f"`sysctl {missing[0]}` there" + (f" ({printed[:200]})" if printed else ""),
                completed,
            )
        return values

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        if state and (gone := [n for n in wanted if state[n] is None and not _accepts(wanted[n])]):
            raise self.error(
                f"there is no {', '.join(gone)} in this kernel; leave it out, or write "
                "`{want: VALUE, if_fixed: accept}`"
            )
        for name in wanted:
            if MOVES_MORE.search(name):
                raise self.error(
                    f"{name} changes more than itself (addresses, routes, other sysctls), which "
                    "could not be restored; set it on the host before the campaign"
                )
            if why := _moves_others(name, interface):
                raise self.error(why)
        values = {n: v for n, v in _wanted(wanted).items() if not state or state[n] is not None}
        for name, value in values.items():
            has, given = (state.get(name) or "").split(), str(value).split()
            if len(has) > len(given) and all(map(str.isdigit, has)):
                raise self.error(
                    f"{name} has {len(has)} values ({' '.join(has)}); write all of them, such as "
                    f'"{" ".join([*given, *has[len(given) :]])}"'
                )
        commands = _write({n: v for n, v in values.items() if not _same(state.get(n), v)})
        return tuple(map(_watched, commands))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        return tuple(
            f"{name} is {_shown(state[name])}, not {_shown(value)}"
            for name, value in _wanted(wanted).items()
            if not _same(state[name], value) and not _accepts(wanted[name])
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """Return one `sysctl -w` for all values in reverse order; `_MOVED` are written last."""
        values = {n: v for n, v in reversed([*original.items()]) if v is not None}
        values = {n: v for n, v in values.items() if state.get(n) != v}
        moved = [f"{n}={values.pop(n)}" for n in _MOVED.values() if n in values]
        return (*_write(values), *map(_write_writable, moved))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Compare all values but those of `_MOVED`: a namespace may lack or not write them."""
        return tuple(
            f"{name} is {_shown(state.get(name, 'gone'))}, was {_shown(value)}"
            for name, value in original.items()
            if state.get(name) != value and name not in _MOVED.values()
        )

    def faults(self, state: State) -> Iterator[str]:
        pattern = re.compile(self.schema["additionalProperties"]["anyOf"][1]["pattern"])
        for name, value in state.items():
            if not NAME.match(name):
                yield f"{name!r} is no sysctl under net."
            elif MOVES_MORE.search(name):
                yield f"{name} changes more than itself"
            elif value and not pattern.search(value):
                yield f"{name} cannot be {value[:80]!r}"


def _moves_others(name: str, interface: str) -> str:
    """Return why a name may not be set: it changes other sysctls or cannot be reset; else ""."""
    before, _, last = name.rpartition(".")
    if name == _ONE_WAY:
        return f"{name} could not be restored: once on, it stays on until the next boot"
    if finer := _ROUNDED.get(last):
        return f"{name} is a rounded view of another sysctl; set {before}.{finer}"
    if _OF_EVERY_INTERFACE.match(name):
        family, kind = name.split(".")[1:3]
        return (
            f"{name} also changes the sysctls of interfaces, which could not be restored; set "
            f"net.{family}.{kind}.{interface}.{last}"
        )
    return ""


def _watched(command: Command) -> Command:
    """Return the command, wrapped in a script that checks other sysctls if it may change them."""
    pairs = command.argv[2:]
    names = [pair.partition("=")[0] for pair in pairs]
    if all(ALONE.match(name) for name in names):
        return command
    views = [name.rpartition("_")[0] for name in names if "_" in name.rpartition(".")[2]]
    passing = "|".join([sysctl_tree.PASSING.pattern, *(view.replace(".", r"\.") for view in views)])
    script = ("sh", "-c", _WRITE_WATCHED, "write sysctls", passing, *pairs)
    return Command(script, by_hand=(command,))


def _accepts(value: Any) -> bool:
    """Return True if the experiment accepts a host that lacks the sysctl or cannot write it."""
    return isinstance(value, Mapping) and value.get("if_fixed") == "accept"


def _wanted(wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {n: v["want"] if isinstance(v, Mapping) else v for n, v in wanted.items()}


def _same(shown: str | None, wanted: Any) -> bool:
    """Compare two values regardless of blanks: the kernel separates numbers by tabs."""
    return shown is not None and shown.split() == str(wanted).split()


def _write(values: Mapping[str, Any]) -> tuple[Command, ...]:
    if strange := [name for name in values if not NAME.match(name)]:
        raise SettingError(f"{strange[0]!r} is no sysctl under net.", setting="sysctl")
    pairs = (f"{name}={value}" for name, value in values.items())
    return (Command(("sysctl", "-w", *pairs), sudo=True),) if values else ()


def _write_writable(pair: str) -> Command:
    script = ("sh", "-c", _WRITE_WRITABLE, "write sysctls", "", pair)
    return Command(script, by_hand=(Command(("sysctl", "-w", pair), sudo=True),))


def _shown(value: Any) -> str:
    return " ".join(str(value).split())
