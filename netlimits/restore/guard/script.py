"""The guard itself: a shell script that a person can read, with the commands of the way back in it.

It needs `sh`, `timeout` and `sleep`, which every host of ours has, and nothing is installed. It
sleeps until a time that the controller moves on at each run; when that time comes, nobody moved
it, and the script restores what was found. Time is /proc/uptime's, which no clock step touches.

It waits on while somebody at work here holds the claim (who restores the host, say), for a while;
and it restores each setting under the lock that every change is made under, so that two never mix,
and whoever ends it leaves no setting half restored.

A command that fails in the second of its two passes has it try again, a few times, each time after
twice as long: what stood in its way may go.

When something more is changed the file is replaced, and the process that runs stays: at its
time it starts the file that is there then (`sh FILE now`), which a person may do as well.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence

from netlimits.hosts.base import KILL_GRACE
from netlimits.hosts.shell import ROOTS_PATH, SUDO
from netlimits.model import Command
from netlimits.restore.guard import scripts
from netlimits.restore.guard.claim import PLACES, Holder, printable
from netlimits.restore.originals import Original, in_words, way_back
from netlimits.settings import setting

SECOND_PASS = 3
"""Seconds between the two passes: a link may be down while its MTU changes, and an offload that
another one blocked takes only once that one is back."""

TRIES = 5
"""How often it tries again where a command failed."""

PAUSE = 10
"""Seconds before it first tries again; twice as long before each later try."""

LONGEST_HOLD = 600
"""Seconds beyond its time that a guard waits for somebody who is at work there."""

_HEAD = """\
#!/bin/sh
# A netlimits guard. A campaign changed settings of this host. If it is not heard from until the
# time in the file ending in .deadline (seconds, as in /proc/uptime), this restores them.
#
"""

_BODY = """\

LC_ALL=C PATH=$PATH{path}
export LC_ALL PATH
cd /
trap '' HUP
name=${{0%.guard}}
key=${{name##*/}}
root=
[ "$(id -u)" = 0 ] || root='{sudo}'

status() {{
    printf '  exit status %s\\n' "$1"
    [ "$1" = 0 ] || failed=$((failed + 1))
}}

told() {{  # a command on one line: a script by its name
    [ "$1" != sh ] || shift 3
    printf '%s\\n' "$*"
}}

act() {{
    seconds=$1
    shift
    told "$@"
    timeout -k {grace:g} "$seconds" "$@"
    status $?
}} </dev/null

fed() {{
    seconds=$1 text=$2
    shift 2
    told "$@" "<- $text"
    printf '%s\\n' "$text" | timeout -k {grace:g} "$seconds" "$@"
    status $?
}}

put_back() {{
{commands}
}}

locked() {{ (exec 9<{lock}) 2>/dev/null && exec 9<{lock} && flock -w {lock_wait} 9; }}
unlocked() {{ exec 9<&-; }}

# sets left: seconds until the time, 0 or less when it has come
look() {{
    until=
    read -r until <"$name.deadline"
    case $until in '' | *[!0-9]*) until=0 ;; esac
    read -r up _ </proc/uptime
    up=${{up%.*}} left=$((until - ${{up%.*}}))
}}
{held}
at_work() {{
    [ "$left" -gt -{longest_hold} ] || return 1
    for place in {places}; do
        claim=$place/netlimits-$key.claim
        [ -L "$claim" ] || continue
        text=$(readlink "$claim")
        text=${{text##* }}  # the time comes last
        text=${{text%\\}}}}
        case $text in '' | *[!0-9]*) continue ;; esac
        [ "$text" -lt "$up" ] || ! held "${{claim%.claim}}.alive" || return 0
    done
    return 1
}}

case $1 in
watch)
    echo $$ >"$name.pid"
    tries=${{2:-0}}
    [ "$tries" = 0 ] || sleep $(({pause} << (tries - 1)))
    while [ -f "$0" ]; do
        look
        if [ "$left" -le 0 ]; then
            at_work || exec sh "$0" now due "$tries"
            left=1
        else
            tries=0
        fi
        [ "$left" -lt {patience} ] || left={patience}
        sleep "$left"
    done
    ;;
now)
    locked
    [ -f "$0" ] || exit 0
    look
    [ "$2" != due ] || {{ [ "$left" -le 0 ] && ! at_work; }} || exec sh "$0" watch "$3" 9<&-
    log=$name.log tries=${{3:-0}}
    [ "$tries" != 0 ] || true >"$log" || log=/dev/null
    unlocked
    {{
        read -r up _ </proc/uptime
        printf 'restoring at %s (/proc/uptime %s)\\n' "$(date -u)" "$up"
        put_back
        sleep {second_pass}
        failed=0
        put_back
        echo done
    }} >>"$log" 2>&1
    if [ "$2" = due ] && [ "$failed" -gt 0 ] && [ "$tries" -lt {tries} ]; then
        exec sh "$0" watch $((tries + 1))
    fi
    ;;
*)
    echo "usage: sh $0 now"
    exit 2
    ;;
esac
"""


def render(holder: Holder, originals: Sequence[Original], patience: int) -> str:
    """The script that restores `originals` (in the order of the first changes), last change first.

    `patience` is in seconds: the longest that it sleeps before it looks at its deadline again.
    """
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(holder.since))
    head = (
        f"#   campaign   {holder.campaign}",
        f"#   since      {since}",
        f"#   run by     {holder.user} at {holder.controller}, process {holder.pid}",
        *(
            f"#   restores   {original.role}: {original.interface}: {original.setting}"
            for original in way_back(originals)
        ),
        "#",
        "# To restore them now:  sh FILE now     To stop it:  kill PID, which is in the file .pid",
        "# To restore, verify and clear away:  netlimits restore --hosts FILE",
    )
    body = _BODY.format(
        path=ROOTS_PATH,
        sudo=" ".join(SUDO),
        grace=KILL_GRACE,
        commands="\n".join(_lines(originals)) or "    :",
        patience=max(1, patience),
        second_pass=SECOND_PASS,
        tries=TRIES,
        pause=PAUSE,
        held=scripts.HELD.strip(),
        places=PLACES,
        lock=scripts.LOCK,
        longest_hold=LONGEST_HOLD,
        lock_wait=2 * scripts.LOCK_WAIT,
    )
    return _HEAD + "\n".join(map(printable, head)) + "\n" + body


def commands(original: Original) -> tuple[Command, ...]:
    """The commands from whatever state there is then back to `original`."""
    return setting(original.setting).undo(original.interface, original.state, {})


def _lines(originals: Sequence[Original]) -> Iterator[str]:
    for original in way_back(originals):
        yield printable(f"    # {original.role}: {original.interface}: {original.setting}")
        yield "    locked"
        for command in commands(original):
            root = "$root " if command.sudo else ""
            how = f"act {command.deadline:g}"
            if command.stdin:
                how = f"fed {command.deadline:g} {shlex.quote(command.stdin.rstrip())}"
            yield from (printable(f"    # would {line}") for line in in_words(command))
            yield f"    {how} {root}{shlex.join(command.argv)}"
        yield "    unlocked"
