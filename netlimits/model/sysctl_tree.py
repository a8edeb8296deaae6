"""Read all network sysctls of a host with one command, and compare the values of two readings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from netlimits.model import Command

READ = ("grep", "-rs", "", "/proc/sys/net")
"""Command that prints PATH:VALUE for each sysctl that the login may read.

Its exit status is 2, since some files are unreadable.
"""

_LINE = re.compile(r"^/proc/sys/(?P<path>net/[^:]+(?::[^/:]+/[^:]+)*):(?P<value>.*)$")

PERL = r"""
my (@lines, $text);
my $shown = sub {
    my ($path) = @_;
    my ($read, $folder);
    for my $size (1024, 65536) {
        my $file = POSIX::open($path, 0);
        return 1 unless defined $file;
        $read = POSIX::read($file, $text, $size);
        $folder = !defined $read && $!{EISDIR};
        POSIX::close($file);
        last if !$read || $read < 512;
    }
    return !$folder unless $read;
    chop $text if substr($text, -1) eq "\n";
    my @rows = index($text, "\n") < 0 ? ($text) : split(/\n/, $text, -1);
    push @lines, map { "$path:$_\n" } @rows;
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
"""Perl equivalent of READ: `$tree->("/proc/sys/net")` appends the same lines to `@lines`.

The optional second argument of `$tree` is a function that selects what to read. It gets a folder
and the names in it, and returns some of these names. POSIX::open and POSIX::read take a third of
the time of Perl's `open` and `sysread`. The kernel clears a buffer of the requested size for each
read, so a small size is tried first.
"""

PASSING = re.compile(
    r"^net\.(netfilter\.nf_conntrack_count"  # number of current connections
    r"|ipv4\.tcp_available_congestion_control"  # depends on the loaded modules
    r"|ipv[46]\.conf\..*\.mc_forwarding)$"  # set only by a multicast routing daemon
)
"""Pattern of sysctls that nobody writes, but whose values change with the state of the host."""


def read() -> Command:
    return Command(READ, deadline=10)


def values(printed: str) -> dict[str, str]:
    """Parse the output of READ into name -> value.

    A dot in an interface name becomes a slash, as in sysctl(8).
    """
    return {
        match["path"].translate(_DOTS): match["value"]
        for match in map(_LINE.match, printed.splitlines())
        if match
    }


_DOTS = str.maketrans("/.", "./")


def moved(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return name -> (before, after) for sysctls whose values differ between two readings.

    Sysctls that only one reading has are left out, and so are those in PASSING.
    """
    return {
        name: (value, after[name])
        for name, value in before.items()
        if after.get(name, value) != value and not PASSING.match(name)
    }
