"""Wait until a link is up: drivers restart a NIC to change its rings, features or MTU.

The link then negotiates for seconds, during which connections fail with "no route to host".
"""

from __future__ import annotations

from netlimits.model import Command

SECONDS = 15.0

_WAIT = """n=0
while read -r carrier <"/sys/class/net/$1/carrier" && [ "$carrier" = 0 ]; do
    n=$((n + 1))
    [ "$n" -le "$2" ] || exit 1
    sleep 0.1
done 2>/dev/null
:"""
"""Wait while the carrier is 0. If the interface is down, the read fails, which ends the wait."""

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
    """Return a command that exits 0 once there is a carrier, or 1 after SECONDS without one.

    It exits 0 at once if the interface is down or missing.
    """
    words = ("sh", "-c", _WAIT, "wait for the link", interface, str(round(10 * SECONDS)))
    return Command(words, deadline=2.0 * SECONDS, perl=_PERL)
