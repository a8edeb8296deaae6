"""The commands that print a host's whole network state in sections, in one round trip."""

from __future__ import annotations

from netlimits.model import Command, sysctl_tree

MOST_INTERFACES = 64
"""Maximum number of interfaces to read completely. Each has some 140 sysctls and 60 features."""

MOST_ROUTES = 5000
"""Maximum number of routes of a family to read. If there are more, only the data interface's routes
are read."""

MOST_BYTES = 400_000
"""Maximum bytes of the data interface's routes; a longer list is left out."""

FEATURES, DRIVER = "-k", "-k -g -c -l -a -x"
"""Options of `ethtool`: to read only features, or everything that the driver reports."""

_SYSCTLS = rf"""
cd /proc/sys/net/ipv4/conf && set -- "$1" *
if [ $# -le {MOST_INTERFACES + 3} ]; then
    grep -rs "" /proc/sys/net
else
    grep -rs --exclude-dir=conf --exclude-dir=neigh "" /proc/sys/net
    for one in all default "$1"; do
        grep -s "" /proc/sys/net/ipv[46]/conf/"$one"/* /proc/sys/net/ipv[46]/neigh/"$one"/*
    done
fi
cd "/sys/class/net/$1" && grep -s "" "$PWD"/*_timeout "$PWD"/*_irqs "$PWD"/queues/*/*ps_*
echo "@end"
"""

_SYSCTLS_IN_PERL = (
    sysctl_tree.PERL
    + rf"""
my ($data) = @_;
my $most = {MOST_INTERFACES + 2};
$tree->("/proc/sys/net", sub {{
    my ($in, @names) = @_;
    return @names unless $in =~ m{{/(conf|neigh)\z}} && @names > $most;
    grep {{ $_ eq "all" || $_ eq "default" || $_ eq $data }} @names;
}});
my $place = "/sys/class/net/$data";
$shown->($_) for glob("$place/*_timeout $place/*_irqs $place/queues/*/*ps_*");
print join("", @lines), "\@end\n";
0;
"""
)

_SCRIPT = rf"""
dev=$1 what=$2
whole() {{  # print standard input under heading $1, unless it is too long
    text=$(head -c {MOST_BYTES})
    [ ${{#text}} -ge {MOST_BYTES - 1000} ] || printf '@%s\n%s\n' "$1" "$text"
}}
family() {{  # print family $1, which has $2 routes
    if [ "$2" -gt {MOST_ROUTES} ]; then
        ip "-$1" -o -d route show table all dev "$dev" | whole "ipv$1-data"
        return
    fi
    echo "@ipv$1"
    ip "-$1" -o -d -force -batch - <<EOF
rule show
neigh show nud permanent
neigh show proxy
nexthop show
$3
route show table all
EOF
}}
kinds() {{
    while read -r word kind handle _ one _; do
        case $word,$kind,$handle in
        qdisc,*,0:) continue ;;
        qdisc,fq,* | qdisc,[bp]fifo,* | qdisc,mq,* | qdisc,netem,* | qdisc,tbf,*) continue ;;
        qdisc,clsact,*) set -- ingress egress ;;
        qdisc,*) set -- "parent $handle" ;;
        *) continue ;;
        esac
        case $kind in htb | hfsc | drr | qfq | ets | cbq | atm)
            echo "@class $one $handle"; tc -d class show dev "$one" parent "$handle" ;;
        esac
        for place; do
            echo "@filter $one $place"
            # shellcheck disable=SC2086
            tc -d filter show dev "$one" $place
        done
    done <<EOF
$qdiscs
EOF
}}
exec 2>/dev/null
read -r boot </proc/sys/kernel/random/boot_id
echo "@boot $boot"
cd /proc/sys/net/ipv4/conf && set -- *
echo "@links $(($# - 2))"
ip -d -j addr show
echo "@ethtool"
every='*'
[ $# -le {MOST_INTERFACES + 2} ] || every=$dev
for word in $what; do
    ethtool "$word" "$every" || [ "$every" = "$dev" ] || ethtool "$word" "$dev"
    every=$dev
done
echo "@tc"
qdiscs=$(tc -d qdisc show)
printf '%s\n' "$qdiscs"
kinds
prefixes=0
if [ -r /proc/net/fib_triestat ]; then
    while read -r word number _; do
        [ "$word" != Prefixes: ] || prefixes=$((prefixes + number))
    done </proc/net/fib_triestat
else
    prefixes=$(grep -c . /proc/net/route)
fi
family 4 "$prefixes" ""
entries=0
[ ! -r /proc/net/rt6_stats ] || read -r _ _ _ entries _ </proc/net/rt6_stats
family 6 "$((0x$entries))" "token list"
echo "@end"
"""


def read(interface: str, driver: bool = True) -> tuple[Command, ...]:
    """Return the commands that read the state.

    With `driver` they also read rings, coalescing, channels, pause and RSS.
    """
    state = ("sh", "-c", _SCRIPT, "state", interface, DRIVER if driver else FEATURES)
    sysctls = ("sh", "-c", _SYSCTLS, "sysctls", interface)
    return (
        Command(sysctls, deadline=10, perl=_SYSCTLS_IN_PERL),
        Command(state, deadline=10),
    )
