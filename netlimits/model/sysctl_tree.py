"""All network sysctls of a host, read in one command and compared.

One sysctl may move others: `base_reachable_time` and `base_reachable_time_ms` are two views of one
number, `net.ipv6.conf.all.X` may write every interface. Two readings of the whole tree show it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from netlimits.model import Command

READ = ("grep", "-rs", "", "/proc/sys/net")
"""Prints PATH:VALUE for every sysctl that the login may read. Exits 2, since there are others."""

_LINE = re.compile(r"^/proc/sys/(?P<path>net/[^:]+(?::[^/:]+/[^:]+)*):(?P<value>.*)$")

PERL = r"""
my @lines;
my $shown = sub {
    my ($path) = @_;
    open(my $file, "<:raw", $path) or return 1;
    my ($text, $read) = ("");
    1 while $read = sysread($file, $text, 8192, length $text);
    return !$!{EISDIR} unless defined $read;
    return 1 if $text eq "";
    $text =~ s/\n\z//;
    push @lines, map { "$path:$_\n" } $text eq "" ? ("") : split(/\n/, $text, -1);
    1;
};
my $tree = sub {
    my ($top, $chosen) = @_;
    my @folders = ($top);
    while (defined(my $in = shift @folders)) {
        opendir(my $folder, $in) or next;
        my @names = sort grep { $_ ne "." && $_ ne ".." } readdir $folder;
        for my $name ($chosen ? $chosen->($in, @names) : @names) {
            $shown->("$in/$name") or push @folders, "$in/$name";
        }
    }
};
"""
"""A program for a host's Perl: `$tree->("/proc/sys/net")` has in `@lines` what READ prints.

A second argument chooses among the names in a folder, which it gets after the folder's own. Print
the lines at once: a Perl that is kept takes longer to print each than to read them all.
"""

PASSING = re.compile(
    r"^net\.(netfilter\.nf_conntrack_count"  # how many there are just now
    r"|ipv4\.tcp_available_congestion_control"  # the modules that are loaded
    r"|ipv[46]\.conf\..*\.mc_forwarding)$"  # written by a multicast router alone
)
"""Sysctls that cannot be written and change by themselves."""


def read() -> Command:
    """Return the command that prints the tree, for `values`."""
    return Command(READ, deadline=10)


def values(printed: str) -> dict[str, str]:
    """Return name -> value of the lines that `read` printed; other lines are left out.

    A name is written as `sysctl` writes it: a dot in an interface's name is a slash there.
    """
    return {
        match["path"].translate(_DOTS): match["value"]
        for match in map(_LINE.match, printed.splitlines())
        if match
    }


_DOTS = str.maketrans("/.", "./")


def moved(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return name -> (value before, value after) of each sysctl that has another value.

    Names that only one of the readings has are left out: an interface or a module came or went.
    """
    return {
        name: (value, after[name])
        for name, value in before.items()
        if after.get(name, value) != value and not PASSING.match(name)
    }
