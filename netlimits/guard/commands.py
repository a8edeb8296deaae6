"""The commands by which a controller makes, renews, reads and removes claims and guards.

Each is one constant shell script; what varies goes in as arguments or on standard input. Files of
a guard lie with the notes (`netlimits.notes`) and are called after the host they are about:
KEY.guard (the script), .deadline, .pid, and .log once it fired.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from netlimits.errors import HostError
from netlimits.guard.claim import PLACES, Claim, Holder, parse, printable
from netlimits.model import Command, Completed
from netlimits.notes import FOLDER, NOTES

SETTLES = 90.0
"""Seconds that a command here may take: a guard that is putting back is waited for."""

_HERE = (
    FOLDER
    + r"""
read -r boot </proc/sys/kernel/random/boot_id
net=$(readlink /proc/self/ns/net); net=${net#*[}; net=${net%]}
key=$net-${boot%%-*}
f=$d/$key
read -r up _ </proc/uptime; up=${up%.*}
alive() {
    pid=; doing=
    { read -r pid <"$f.pid"; } 2>/dev/null
    case $pid in "" | *[!0-9]*) return 1 ;; esac
    case "$({ tr "\0" " " <"/proc/$pid/cmdline"; } 2>/dev/null)" in
    *"$f.guard watch "*) doing=watch ;;
    *"$f.guard now "*) doing=now ;;
    *) return 1 ;;
    esac
}
settle() {
    n=0
    while alive && [ $doing = now ] && [ $n -lt 300 ]; do sleep 0.2; n=$((n + 1)); done
}
"""
)

_OURS = r"""
ours() { case $(readlink "$1" 2>/dev/null) in "${mine%\}},"*) return 0 ;; esac; return 1; }
mine=$1 claim=$2
if ! ours "$claim"; then echo "lost $(readlink "$claim" 2>/dev/null)"; exit 0; fi
"""

# A process that systemd starts belongs to no login's session, so that no logout ends it. It
# would see the machine's own network and files, so it will not do inside a namespace.
_TEND = r"""
begun() { n=0; until alive; do n=$((n + 1)); [ $n -lt 100 ] || return 1; sleep 0.05; done; }
by_systemd() {
    [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ] && command -v systemd-run >/dev/null &&
        [ "$(readlink /proc/1/ns/net)" = "$(readlink /proc/self/ns/net)" ] &&
        [ "$(readlink /proc/1/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ] &&
        systemd-run --quiet --collect --unit="netlimits-guard-$key" sh "$f.guard" watch \
            </dev/null >/dev/null 2>&1 && begun
}
start() {
    rm -f "$f.pid"
    by_systemd && return 0
    setsid sh "$f.guard" watch </dev/null >/dev/null 2>&1 &
    begun || { echo "the guard does not start" >&2; return 1; }
}
tend() {
    echo "$1" >"$d/.$key.deadline" && mv -f "$d/.$key.deadline" "$f.deadline" || return 1
    settle
    if [ -e "$f.log" ]; then echo fired; rm -f "$f.log"; fi
    alive || start
}
"""

_LOOK = (
    _HERE
    + rf"""
echo "key $key $(id -u)"; echo "uptime $up"
for p in {PLACES}; do
    c=$p/netlimits-$key.claim
    [ ! -L "$c" ] || echo "claim $c $(readlink "$c")"
done
for l in /sys/class/net/*/address; do echo "link $(cat "$l" 2>/dev/null)"; done
{NOTES} | sed "s/^/note /"
[ -f "$f.guard" ] || exit 0
if alive; then echo "guard $pid $doing"; else echo "guard 0 dead"; fi
{{ read -r until <"$f.deadline" && echo "deadline $until"; }} 2>/dev/null
sed -n "s/^    act [0-9.]* /would /p; s/^    fed [0-9.]* /would write /p" "$f.guard"
[ ! -f "$f.log" ] || {{ echo fired; tail -n 400 "$f.log" | sed "s/^/said /"; }}
exit 0
"""
)

_TAKE = (
    _HERE
    + rf"""
text="${{1%\}}}}, \"until\": $((up + $2))}}"
if [ -n "$3" ]; then
    mv -fT "$4" "$4.$$" || exit 3
    if [ "$(readlink "$4.$$")" = "$3" ]; then rm -f "$4.$$"; else mv -nT "$4.$$" "$4"; exit 3; fi
fi
for p in {PLACES}; do [ ! -d "$p" ] || [ ! -w "$p" ] || break; done
claim=$p/netlimits-$key.claim
ln -sT "$text" "$claim" || exit 3
for p in {PLACES}; do
    other=$p/netlimits-$key.claim
    [ "$other" = "$claim" ] || [ ! -L "$other" ] || {{ rm -f "$claim"; exit 3; }}
done
echo "$claim"
"""
)

_RENEW = (
    _HERE
    + _OURS
    + _TEND
    + r"""
until=$((up + $3))
ln -sT "${mine%\}}, \"until\": $until}" "$claim.$$" && mv -fT "$claim.$$" "$claim" || exit 1
[ ! -f "$f.guard" ] || tend "$until"
"""
)

_ARM = (
    _HERE
    + _OURS
    + _TEND
    + r"""
mkdir -p "$d" && cat >"$d/.$key.guard" && mv -f "$d/.$key.guard" "$f.guard" || exit 1
tend $((up + $3))
"""
)

_HOLD = _HERE + _TEND + '[ ! -f "$f.guard" ] || tend $((up + $1))'

_FIRED = _HERE + '[ ! -e "$f.log" ] || echo fired'

_CLEAR = rf"""
settle
if alive; then
    kill -s TERM -- "-$pid" 2>/dev/null || kill -s TERM "$pid"
    n=0
    while alive; do
        n=$((n + 1)); [ $n -lt 100 ] || {{ echo "the guard $pid does not end" >&2; exit 1; }}
        sleep 0.05
    done
fi
rm -f "$f.guard" "$f.deadline" "$f.pid" "$f.log" "$d/.$key.guard" "$d/.$key.deadline"
for p in {PLACES}; do
    c=$p/netlimits-$key.claim
    [ ! -L "$c" ] || rm -f "$c" || echo "kept $c"
done
rmdir "$d" 2>/dev/null || true
"""
_RELEASE = _HERE + _OURS + _CLEAR
_REMOVE = _HERE + _CLEAR


@dataclass(slots=True)
class Seen:
    """A host as `look` shows it; times in seconds of its /proc/uptime.

    `key` is what a guard's files are called after, `claims` are (path, text), `pid` is the
    guard's process (0: there is a guard's file and no process; None: there is no guard),
    `doing` is `watch` or `now`, `deadline` when it fires, `would` the commands it would run,
    `said` its log once it `fired`, `notes` the notes in the folder, `links` link addresses.
    """

    key: str = ""
    uid: str = ""
    uptime: int = 0
    claims: list[tuple[str, str]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pid: int | None = None
    doing: str = ""
    deadline: int | None = None
    would: list[str] = field(default_factory=list)
    fired: bool = False
    said: list[str] = field(default_factory=list)

    def claimed(self) -> Iterator[tuple[str, str, Claim | None]]:
        """Path, text and what the text says of each claim."""
        for path, text in self.claims:
            yield path, text, parse(text, self.uptime)


def look() -> Command:
    """The command that shows who claims a host and what guards it; it changes nothing."""
    return Command(("sh", "-c", _LOOK, "look"), deadline=10)


def seen(completed: Completed) -> Seen:
    """What `look` printed. Raises HostError when it is no such thing."""
    found = Seen()
    try:
        for line in completed.stdout.splitlines():
            word, _, rest = line.partition(" ")
            _take_in(found, word, rest)
        if not found.key:
            raise ValueError("no key")
    except ValueError:
        said = " ".join((completed.stderr or completed.stdout).split())[:200]
        raise HostError(
            f"it does not say who is at work there: {printable(said) or 'it printed nothing'}",
            host=completed.host,
        ) from None
    return found


def _take_in(found: Seen, word: str, rest: str) -> None:
    """Add one line. Raises ValueError."""
    first, _, second = rest.partition(" ")
    match word:
        case "key":
            found.key, found.uid = first, second
        case "uptime":
            found.uptime = int(rest)
        case "claim":
            found.claims.append((first, second))
        case "link" if rest:
            found.links.append(rest)
        case "note":
            found.notes.append(rest)
        case "guard":
            found.pid, found.doing = int(first), second
        case "deadline":
            found.deadline = int(rest)
        case "would":
            found.would.append(printable(rest.replace("$root ", "", 1)))
        case "fired":
            found.fired = True
        case "said":
            found.said.append(printable(rest))


def take(holder: Holder, seconds: float, old: tuple[str, str] | None) -> Command:
    """The command that claims a host for so long; it prints the claim's path, or exits 3.

    `old` is the (path, text) of the claim that it replaces; only that very one is replaced.
    """
    path, text = old or ("", "")
    return _command(_TAKE, "take", holder.text, str(_whole(seconds)), text, path)


def renew(holder: Holder, claim: str, seconds: float) -> Command:
    """The command that moves the claim's and the guard's time on; see `came`."""
    return _command(_RENEW, "renew", holder.text, claim, str(_whole(seconds)))


def arm(holder: Holder, claim: str, seconds: float, script: str) -> Command:
    """The command that puts a guard's script in place and sees that its process runs."""
    return _command(_ARM, "arm", holder.text, claim, str(_whole(seconds)), stdin=script)


def hold(seconds: float) -> Command:
    """The command that keeps whoever's guard from firing for so long."""
    return _command(_HOLD, "hold", str(_whole(seconds)))


def fired() -> Command:
    """The command that prints `fired` when the guard put something back since it was armed."""
    return Command(("sh", "-c", _FIRED, "fired"), deadline=10)


def release(holder: Holder, claim: str) -> Command:
    """The command that ends our guard and takes its files and our claim away."""
    return _command(_RELEASE, "release", holder.text, claim)


def remove() -> Command:
    """The command that does so with whoever's claim and guard."""
    return _command(_REMOVE, "remove")


def came(completed: Completed) -> tuple[bool, str | None]:
    """Whether the guard had fired, and the text of the claim in the place of ours (None: ours)."""
    for line in completed.stdout.splitlines():
        if line == "lost" or line.startswith("lost "):
            return False, line[5:]
    return "fired" in completed.stdout.splitlines(), None


def _command(script: str, name: str, *arguments: str, stdin: str = "") -> Command:
    return Command(("sh", "-c", script, name, *arguments), stdin=stdin, deadline=SETTLES)


def _whole(seconds: float) -> int:
    return max(1, round(seconds + 0.5))
