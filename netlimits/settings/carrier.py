"""Wait for a carrier: drivers restart a NIC to change its rings, features or MTU.

The link then negotiates for seconds, and connections fail with "no route to host".
"""

from __future__ import annotations

from netlimits.model import Command

RESTARTS = frozenset({"channels", "coalesce", "link", "mtu", "offload", "pause", "ring"})

SECONDS = 15.0

_WAIT = """n=0
while read -r carrier <"/sys/class/net/$1/carrier" && [ "$carrier" = 0 ]; do
    n=$((n + 1))
    [ "$n" -le "$2" ] || exit 1
    sleep 0.1
done 2>/dev/null
:"""
"""Reading the carrier of an interface that is down fails, so the script does not wait for it."""


_PERL = r"""
my ($interface, $tenths) = @_;
for (0 .. $tenths) {
    open(my $file, "<", "/sys/class/net/$interface/carrier") or return 0;
    return 0 unless (<$file> // "") eq "0\n";
    select(undef, undef, undef, 0.1);
}
1;
"""


def wait(interface: str) -> Command:
    """Return the command that ends once there is a carrier, or with status 1 after SECONDS."""
    words = ("sh", "-c", _WAIT, "wait for the link", interface, str(round(10 * SECONDS)))
    return Command(words, deadline=2.0 * SECONDS, perl=_PERL)
