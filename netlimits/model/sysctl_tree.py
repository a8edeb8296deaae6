"""Read all network sysctls of a host in one command, and compare two readings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from netlimits.model import Command

READ = ("grep", "-rs", "", "/proc/sys/net")
"""Print PATH:VALUE for every sysctl that the login may read. It exits 2, as some are unreadable."""

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
"""A Perl equivalent: `$tree->("/proc/sys/net")` appends to `@lines` what READ prints.

The second argument filters names: it gets a folder and the names in it. POSIX's calls take a third
of the time of `open` and `sysread`. A small buffer is tried first, since the kernel clears one of
the requested size.
"""

PASSING = re.compile(
    r"^net\.(netfilter\.nf_conntrack_count"  # the current number of connections
    r"|ipv4\.tcp_available_congestion_control"  # the modules that are loaded
    r"|ipv[46]\.conf\..*\.mc_forwarding)$"  # only a multicast router writes it
)
"""Read-only sysctls whose value changes by itself."""


def read() -> Command:
    return Command(READ, deadline=10)


def values(printed: str) -> dict[str, str]:
    """Parse READ's output into name -> value; as in sysctl(8), interface names have / for a dot."""
    return {
        match["path"].translate(_DOTS): match["value"]
        for match in map(_LINE.match, printed.splitlines())
        if match
    }


_DOTS = str.maketrans("/.", "./")


def moved(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return name -> (before, after) of each sysctl that both readings have and that differs."""
    return {
        name: (value, after[name])
        for name, value in before.items()
        if after.get(name, value) != value and not PASSING.match(name)
    }
