"""The script that prints a host's whole network state, in sections.

Sizes are bounded. On a host with many interfaces the features, rings and sysctls of the data
interface alone are read; where there are too many routes, those of the data interface alone.
"""

from __future__ import annotations

from netlimits.model import Command

MOST_INTERFACES = 64
"""Interfaces of which everything is read; each has some 140 sysctls and 60 features."""

MOST_BYTES = 4_000_000
"""Bytes that the script prints, at most; of each family's routes a tenth of that."""

_SCRIPT = rf"""
LC_ALL=C; export LC_ALL
dev=$1
whole() {{  # what is read, under heading $1, unless it is too much
    text=$(head -c {MOST_BYTES // 10})
    [ ${{#text}} -lt {MOST_BYTES // 10 - 1000} ] && printf '@%s\n%s\n' "$1" "$text"
}}
family() {{
    printf '%s\n' "$2" | ip "-$1" -o -d -force -batch - | whole "ipv$1" ||
        ip "-$1" -o -d route show table all dev "$dev" | whole "ipv$1-data"
}}
kinds() {{
    tc qdisc show | sed -n 's/^qdisc \([^ ]*\) \([^ :]*:\) dev \([^ ]*\) .*/\1 \2 \3/p' |
        while read -r kind handle one; do
            case $kind,$handle in
            *,0:) continue ;;
            clsact,*) set -- ingress egress ;;
            *) set -- "parent $handle" ;;
            esac
            case $kind in htb | hfsc | drr | qfq | ets | cbq | atm)
                echo "@class $one $handle"; tc -d class show dev "$one" parent "$handle" ;;
            esac
            for place; do
                echo "@filter $one $place"
                # shellcheck disable=SC2086
                tc -d filter show dev "$one" $place
            done
        done
}}
{{
    read -r boot </proc/sys/kernel/random/boot_id
    echo "@boot $boot"
    count=$(grep -c : /proc/net/dev)
    if [ "$count" -le {MOST_INTERFACES} ]; then every='*'; else every=$dev; fi
    echo "@links $count"
    ip -d -j addr show
    echo "@ethtool"
    for what in -k -g -c -l -a; do
        ethtool $what "$every" || [ "$every" = "$dev" ] || ethtool $what "$dev"
    done
    ethtool -x "$dev"
    echo "@queues $dev"
    cd "/sys/class/net/$dev" && grep -s "" gro_flush_timeout napi_defer_hard_irqs threaded \
        queues/*/*ps_* queues/*/tx_maxrate
    echo "@tc"
    qdiscs=$(tc -d qdisc show)
    printf '%s\n' "$qdiscs"
    case $qdiscs in *" "[1-9a-f]*": dev "*) kinds ;; esac
    echo "@sysctl"
    if [ "$every" != "$dev" ]; then
        grep -rs "" /proc/sys/net
    else
        grep -rs --exclude-dir=conf --exclude-dir=neigh "" /proc/sys/net
        for one in all default "$dev"; do
            grep -s "" /proc/sys/net/ipv[46]/conf/"$one"/* /proc/sys/net/ipv[46]/neigh/"$one"/*
        done
    fi
    rest="rule show
neigh show nud permanent
neigh show proxy
nexthop show
route show table all"
    family 4 "$rest"
    family 6 "token list
$rest"
    echo "@end"
}} 2>/dev/null | head -c {MOST_BYTES}
"""


def read(interface: str) -> Command:
    """Return the command that prints a host's network state; no root is needed."""
    return Command(("sh", "-c", _SCRIPT, "sh", interface), deadline=10)
