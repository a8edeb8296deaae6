"""End programs that a lost connection left running on its host: clients, samplers, servers.

sshd may not notice a broken connection for minutes. Every program of ours is a child of a `sh`
whose process id is known. Another process may have got that id by now, so a process counts as ours
only if its command line is `sh` without arguments.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlimits.hosts.base import KILL_GRACE, Host
from netlimits.model import Command

_END = r"""
children() {
    for stat in /proc/[0-9]*/stat; do
        read -r line <"$stat" || continue
        rest=${line##*) }
        state=${rest%% *} rest=${rest#* }
        parent=${rest%% *}
        case " $shells " in *" $parent "*) ;; *) continue ;; esac
        [ "$state" = Z ] || echo "${line%% *}"
    done
}
tries=$1 shells=
shift
for pid; do
    line=
    read -r line <"/proc/$pid/cmdline"
    [ "$line" = sh ] && shells="$shells $pid"
done 2>/dev/null
[ "$shells" ] || exit 0
left=$(children 2>/dev/null)
kill -s TERM $left $shells
n=0
while :; do
    left=$(for pid in $left; do
        read -r line <"/proc/$pid/stat" || continue
        case ${line##*) } in Z*) ;; *) echo "$pid" ;; esac
    done)
    [ "$left" ] || exit 0
    n=$((n + 1))
    [ "$n" -lt "$tries" ] || break
    sleep 0.1
done 2>/dev/null
kill -s KILL $left
"""


def end(host: Host, shells: Sequence[int]) -> None:
    if shells:
        tries = f"{10 * KILL_GRACE + 10:.0f}"
        words = ("sh", "-c", _END, "leftovers", tries, *map(str, shells))
        host.run(Command(words, deadline=15))
