"""The shell scripts that create, hold, renew, read and remove claims and guards on a host.

Variable parts are passed as arguments or on standard input. A guard's files are in the folder of
the notes: KEY.guard (the script), KEY.deadline, KEY.pid, and KEY.log after it has fired. A script
that checks a claim and then acts holds a lock while it does both, so it changes nothing after the
claim is lost. The lock is on the host's network namespace.
"""

from __future__ import annotations

from netlimits.model.state_folder import FOLDER, WHERE
from netlimits.restore.guard.claim import PLACES
from netlimits.restore.notes import NOTES

LOCK = "/proc/self/ns/net"
"""The file to lock while a script checks a claim and acts: the host's network namespace."""

LOCK_WAIT = 75
"""Seconds to wait for the lock, longer than any change of a setting takes."""

LOST = 79
"""Exit status of `WITHIN` if the claim is no longer ours."""

UNGUARDED = 80
"""Exit status of `WITHIN` if no guard would restore the change."""

KEY = r"""
read -r boot </proc/sys/kernel/random/boot_id
net=$(readlink /proc/self/ns/net); net=${net#*[}; net=${net%]}
key=$net-${boot%%-*}
"""
"""Set $key to the host's identity: its network namespace and boot."""

_KEY_OF_CLAIM = r"""
key=${2##*/netlimits-}; key=${key%.claim}
read -r boot </proc/sys/kernel/random/boot_id
case $key in *-"${boot%%-*}") ;; *) echo lost; exit 0 ;; esac
"""
"""Set $key from the path of our claim in $2, without a process; print `lost` after a reboot."""

HELD = r"""
held() { [ -f "$1" ] && [ ! -L "$1" ] && ! (exec 8<"$1" && flock -n -s 8) 2>/dev/null; }
"""
"""Define `held FILE`: true if a campaign's connection keeps FILE, its .alive file, locked."""

_UPTIME = "read -r up _ </proc/uptime; up=${up%.*}"

_LOCK = rf"""
lock() {{
    exec 9<{LOCK} && flock -w {LOCK_WAIT} 9 || {{
        echo "another netlimits command on this host does not end" >&2
        exit 75
    }}
    {_UPTIME}
}}
"""
"""Define `lock`: wait for the lock, then set $up to the uptime, the basis of new deadlines."""

_GUARD = r"""
f=$d/$key
alive() {
    pid=; doing=
    [ -f "$f.pid" ] && { read -r pid <"$f.pid"; } 2>/dev/null
    case $pid in "" | *[!0-9]*) return 1 ;; esac
    case "$({ tr "\0" " " <"/proc/$pid/cmdline"; } 2>/dev/null)" in
    *"$f.guard watch "*) doing=watch ;;
    *"$f.guard now "*) doing=now ;;
    *) return 1 ;;
    esac
}
signalled() { kill -s "$1" -- "-$pid" 2>/dev/null || kill -s "$1" "$pid"; }
woken() { alive && signalled CONT; }
"""
"""Set $f to the path of the guard's files without suffix, and define three functions.

`alive` is true if the guard's process runs; it sets $pid and $doing. `signalled SIGNAL` sends a
signal to the process. `woken` continues a process that somebody stopped (SIGSTOP): such a process
may hold the lock, and does not guard the host.
"""

_HERE = FOLDER + KEY + HELD + _LOCK + _GUARD

_IS_OURS = r"""
ours() { case $(readlink "$claim" 2>/dev/null) in "${mine%\}},"*) return 0 ;; esac; return 1; }
lost() { echo "lost $(readlink "$claim" 2>/dev/null)"; }
mine=$1 claim=$2
"""

_REFUSED = "ours || { lost; exit 0; }\n"
_OURS = _IS_OURS + "lock\n" + _REFUSED
_CLAIMED = FOLDER + _KEY_OF_CLAIM + HELD + _LOCK + _GUARD + "woken\n" + _OURS
"""First part of other scripts: take the lock, and exit unless our claim (text $1) is at $2."""

_AT_WORK = r"""
working() {
    state=
    [ ! -f "$f.pid" ] || { read -r pid <"$f.pid"; read -r state <"/proc/$pid/stat"; } 2>/dev/null
    [ -f "$f.guard" ] || return 1
    case $state in *") "[!TtXZ]*) return 0 ;; esac
    return 1
}
"""
"""Define `working`: true if the guard's script exists, and its process runs and is not stopped."""

WITHIN = (
    _LOCK
    + _IS_OURS
    + _AT_WORK
    + rf"""
lock
ours || {{ lost; exit {LOST}; }}
if [ "$3" = guarded ]; then
    {WHERE}
    f=${{claim##*/netlimits-}}; f=$d/${{f%.claim}} until=
    {{ read -r until <"$f.deadline"; }} 2>/dev/null
    case $until in "" | *[!0-9]*) until=0 ;; esac
    [ "$until" -gt "$up" ] && working || exit {UNGUARDED}
fi
shift 3
exec "$@"
"""
)
"""Run the command after $3 if the claim is ours, and keep the lock until the command ends.

If $3 is `guarded`, a guard must also be running, and its deadline must be in the future. A guard
needs the same lock to restore. So it restores this change, even if its deadline passes meanwhile.
"""

# A process that systemd starts belongs to no login session, so no logout ends it. It sees the
# machine's own network and files, so systemd is not used inside a namespace.
_POSTPONE = r"""
begun() { n=0; until alive; do n=$((n + 1)); [ $n -lt 250 ] || return 1; sleep 0.02; done; }
by_systemd() {
    [ "$uid" = 0 ] && [ -d /run/systemd/system ] && command -v systemd-run >/dev/null &&
        [ "$(readlink /proc/1/ns/net)" = "$(readlink /proc/self/ns/net)" ] &&
        [ "$(readlink /proc/1/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ] &&
        systemd-run --quiet --collect --unit="netlimits-guard-$key" sh "$f.guard" watch \
            </dev/null >/dev/null 2>&1 && begun
}
placed() {
    [ ! -d "$d/$1" ] || rm -rf "$d/$1"
    # by `cat`, which reports why a disk refuses it
    cat >"$d/.$1" && mv -fT "$d/.$1" "$d/$1" || { rm -f "$d/.$1"; return 1; }
}
start() {
    rm -rf "$f.pid"
    by_systemd && return 0
    setsid sh "$f.guard" watch </dev/null >/dev/null 2>&1 9<&- &
    begun || { echo "the guard does not start" >&2; return 1; }
}
postpone() {
    echo "$1" | placed "$key.deadline" || return 1
    if [ -e "$f.log" ]; then echo fired; rm -rf "$f.log"; fi
    woken || start
}
guarded() { if [ -f "$f.guard" ]; then postpone "$1"; else echo unarmed; fi; }
"""

LOOK = (
    _HERE
    + _UPTIME
    + rf"""
echo "key $key $uid"; echo "uptime $up"
for p in {PLACES}; do
    c=$p/netlimits-$key.claim
    [ -L "$c" ] || [ -e "$c" ] || continue
    echo "claim $c $(readlink "$c")"
    ! held "${{c%.claim}}.alive" || echo "held $c"
done
for l in /sys/class/net/*/address; do echo "link $(cat "$l" 2>/dev/null)"; done
{NOTES} | sed "s/^/note /"
[ -f "$f.guard" ] || exit 0
if alive; then echo "guard $pid $doing"; else echo "guard 0 dead"; fi
[ ! -f "$f.deadline" ] || {{ read -r until <"$f.deadline" && echo "deadline $until"; }} 2>/dev/null
sed -n "s/^    # would /would /p" "$f.guard"
[ ! -f "$f.log" ] || {{ echo fired; tail -n 400 "$f.log" | sed "s/^/said /"; }}
exit 0
"""
)
"""Print the host's claims, notes and guard, without changing anything or waiting."""

TAKE = (
    _HERE
    + rf"""
woken
lock
text="${{1%\}}}}, \"until\": $((up + $2))}}"
for p in {PLACES}; do
    other=$p/netlimits-$key.claim
    {{ [ ! -L "$other" ] && [ ! -e "$other" ]; }} || [ "$other" = "$4" ] || exit 3
done
if [ -n "$4" ]; then
    [ "$(readlink "$4")" = "$3" ] || exit 3
    [ "$5" != dead ] || ! held "${{4%.claim}}.alive" || exit 3
    rm -rf "$4" "$4".[0-9]* "${{4%.claim}}.alive" 2>/dev/null
    {{ [ ! -L "$4" ] && [ ! -e "$4" ]; }} ||
        {{ echo "this login may not remove $4; do it as root" >&2; exit 4; }}
fi
for p in {PLACES}; do
    [ -d "$p" ] && [ -w "$p" ] || continue
    claim=$p/netlimits-$key.claim
    rm -rf "$p/netlimits-$key.alive"
    (umask 022; set -C; : >"$p/netlimits-$key.alive") && ln -sT "$text" "$claim" &&
        {{ echo "$claim"; exit 0; }}
    rm -f "$p/netlimits-$key.alive"
done
exit 4
"""
)
"""Claim the host with text $1 for $2 s, and replace the old claim (text $3, path $4), if any.

The claim goes into the first folder that accepts it, so that a host whose /run is full can be
restored too. If $5 is `dead`, the replaced claim must not be held. The exit status is 3 if it is
held nevertheless, or if the claims have changed since they were read.
"""

HOLD = (
    _CLAIMED
    + r"""
exec 8<"${claim%.claim}.alive" || exit 1
flock -w 5 8 || exit 1
exec 9<&-
exec sleep 2147483647
"""
)
"""Keep our claim's .alive file locked until the process ends, at the latest with our connection."""

AWAIT = (
    HELD
    + _LOCK
    + _IS_OURS
    + r"""
n=0
until held "${claim%.claim}.alive"; do
    ours || { lost; exit 0; }
    n=$((n + 1))
    case $n in 500) lock; exec 9<&- ;; 1000) exit 1 ;; esac
    sleep 0.02
done
"""
)
"""Wait until `HOLD` holds our claim. After 10 s, wait for the lock once, as `HOLD` may be doing."""

RENEW = (
    _CLAIMED
    + _POSTPONE
    + r"""
text="${mine%\}}, \"until\": $((up + $3))}"
ln -sT "$text" "$claim.$$" && mv -fT "$claim.$$" "$claim" || exit 1
[ -z "$4" ] || guarded $((up + $4))
"""
)
"""Extend the claim to $3 s from now, and the guard's deadline to $4 s if $4 is not empty."""

ARM = (
    _CLAIMED
    + _POSTPONE
    + r"""
[ -d "$d" ] || mkdir -p "$d" || exit 1
if [ -n "$4" ]; then
    IFS= read -r note && printf '%s\n' "$note" | placed "$4" || exit 1
fi
placed "$key.guard" || exit 1
postpone $((up + $3))
"""
)
"""Install a guard's script with a deadline $3 s from now, and make sure that its process runs.

If $4 is the file name of a note, write the note first: it is the first line of standard input.
"""

POSTPONE = _CLAIMED + _POSTPONE + "guarded $((up + $3))\n"
"""Extend this login's guard to $3 s from now; another login of the campaign renews the claim."""

FIRED = (
    FOLDER
    + _KEY_OF_CLAIM
    + _IS_OURS
    + _AT_WORK
    + _REFUSED
    + r"""
f=$d/$key
[ ! -e "$f.log" ] || echo fired
working || echo dead
"""
)
"""Print `fired` if the guard has fired since it was armed, and `dead` if no guard is running.

A guard is dead if its script is missing, or if its process is gone or stopped. This script needs no
lock: a guard writes its log before it restores, and another campaign replaces the claim before it
changes anything.
"""

FIRED_IN_PERL = r"""
my ($mine, $claim) = @_;
$mine =~ s/}\z/,/;
my $first = sub { open(my $file, "<", $_[0]) or return ""; <$file> // "" };
my $key = $claim =~ s{.*/netlimits-}{}sr =~ s/\.claim\z//r;
my $guard = ($> ? "$ENV{HOME}/.local/state/netlimits" : "/run/netlimits") . "/$key";
my ($boot) = split /-/, $first->("/proc/sys/kernel/random/boot_id");
$key =~ /-\Q$boot\E\z/ or print("lost\n"), return 0;
my $holder = readlink($claim) // "";
index($holder, $mine) == 0 or print("lost $holder\n"), return 0;
print "fired\n" if -e "$guard.log";
chomp(my $pid = -f "$guard.pid" ? $first->("$guard.pid") : "");
print "dead\n" unless -f "$guard.guard" && $first->("/proc/$pid/stat") =~ /\) [^TtXZ]/;
0;
"""
"""`FIRED` in Perl (`hosts.perl`), which starts no process, since every run executes it."""

RELEASE = (
    _CLAIMED
    + r"""
if alive; then
    signalled TERM
    signalled CONT
    n=0
    while alive; do
        n=$((n + 1)); [ $n -lt 100 ] || { echo "the guard $pid does not end" >&2; exit 1; }
        sleep 0.05
    done
fi
rm -rf "$f.guard" "$f.deadline" "$f.pid" "$f.log" "$d/.$key.guard" "$d/.$key.deadline"
rmdir "$d" 2>/dev/null
[ -n "$3" ] || exit 0
rm -f "$claim".[0-9]* 2>/dev/null
rm -f "$claim" "${claim%.claim}.alive"
"""
)
"""End this login's guard and, if $3 is `all`, remove our claim.

This also removes the file that `RENEW` leaves if it is killed between its two steps.
"""
