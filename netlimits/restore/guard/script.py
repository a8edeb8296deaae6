"""Write the guard: a readable shell script that contains the commands of the restore.

The script needs `sh`, `flock` and coreutils. It sleeps until a deadline, which the controller
extends at each run. If somebody holds the claim, it waits up to LONGEST_HOLD longer. Deadlines are
times of /proc/uptime, so changes of the clock do not affect them.

At the deadline, the script restores all settings in two passes, each setting under the lock that
every change needs. If the second pass fails, it tries again up to TRIES times. When the campaign
changes another setting, the file is replaced, but the process continues. At its deadline the
process runs the present file (`sh FILE now`), which a person can do too.
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
from netlimits.restore.originals import Original, restore_order, shell_lines
from netlimits.settings import setting

SECOND_PASS = 3
"""Seconds between the two passes.

The first pass may fail because a link is down while its MTU changes, or because another offload
must be restored first.
"""

TRIES = 5
"""Maximum number of further tries if commands fail."""

PAUSE = 10
"""Seconds before the first further try; the wait doubles before each later try."""

LONGEST_HOLD = 600
"""Maximum seconds that a guard waits beyond its deadline while somebody holds the claim."""

_HEAD = """\
#!/bin/sh
# A netlimits guard. A campaign changed settings of this host. This script restores them unless the
# campaign extends the time in the file ending in .deadline (seconds, as in /proc/uptime).
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

shown() {{  # a command on one line: a script by its name
    [ "$1" != sh ] || shift 3
    printf '%s\\n' "$*"
}}

act() {{
    seconds=$1
    shift
    shown "$@"
    timeout -k {grace:g} "$seconds" "$@"
    status $?
}} </dev/null

fed() {{
    seconds=$1 text=$2
    shift 2
    shown "$@" "<- $text"
    printf '%s\\n' "$text" | timeout -k {grace:g} "$seconds" "$@"
    status $?
}}

# restores each setting, as long as the campaign has not come back and extended the time
restore() {{
{commands}
}}

locked() {{ (exec 9<{lock}) 2>/dev/null && exec 9<{lock} && flock -w {lock_wait} 9; }}
unlocked() {{ exec 9<&-; }}
still_due() {{
    locked
    [ "$due" = due ] || return 0
    look
    [ "$left" -le 0 ] || exec sh "$0" watch 9<&- >/dev/null 2>&1
}}

# sets left: seconds until the deadline, 0 or less when it has passed
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
        text=${{text##* }}  # the time is the last word
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
    due=$2
    locked
    [ -f "$0" ] || exit 0
    look
    [ "$due" != due ] || {{ [ "$left" -le 0 ] && ! at_work; }} || exec sh "$0" watch "$3" 9<&-
    log=$name.log tries=${{3:-0}}
    [ "$tries" != 0 ] || true >"$log" || log=/dev/null
    unlocked
    {{
        read -r up _ </proc/uptime
        printf 'restoring at %s (/proc/uptime %s)\\n' "$(date -u)" "$up"
        restore
        sleep {second_pass}
        failed=0
        restore
        echo done
    }} >>"$log" 2>&1
    if [ "$due" = due ] && [ "$failed" -gt 0 ] && [ "$tries" -lt {tries} ]; then
        exec sh "$0" watch $((tries + 1))
    fi
    still_due
    ;;
*)
    echo "usage: sh $0 now"
    exit 2
    ;;
esac
"""


def render(holder: Holder, originals: Sequence[Original], patience: int) -> str:
    """Return the script that restores `originals`.

    It checks its deadline at least every `patience` seconds.
    """
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(holder.since))
    head = (
        f"#   campaign   {holder.campaign}",
        f"#   since      {since}",
        f"#   run by     {holder.user} at {holder.controller}, process {holder.pid}",
        *(
            f"#   restores   {original.role}: {original.interface}: {original.setting}"
            for original in restore_order(originals)
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
    """Return the commands that restore an original when the present state is unknown."""
    return setting(original.setting).undo(original.interface, original.state, {})


def _lines(originals: Sequence[Original]) -> Iterator[str]:
    for original in restore_order(originals):
        yield printable(f"    # {original.role}: {original.interface}: {original.setting}")
        yield "    still_due"
        for command in commands(original):
            root = "$root " if command.sudo else ""
            how = f"act {command.deadline:g}"
            if command.stdin:
                how = f"fed {command.deadline:g} {shlex.quote(command.stdin.rstrip())}"
            yield from (printable(f"    # would {line}") for line in shell_lines(command))
            yield f"    {how} {root}{shlex.join(command.argv)}"
        yield "    unlocked"
