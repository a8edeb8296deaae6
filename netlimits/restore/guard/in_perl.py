"""The scripts that every run needs of a claim, in Perl, for hosts that keep one.

A shell starts programs for a lock and to read a link; Perl needs none. `hosts.perl` documents what
such Perl gets and returns.
"""

from __future__ import annotations

from netlimits.restore.guard.scripts import LOCK, LOCK_WAIT, LOST

_OURS = r"""
my ($mine, $claim, @words) = @_;
$mine =~ s/}\z/,/;
my $lost = sub {
    my $holder = readlink($claim) // "";
    return 0 if index($holder, $mine) == 0;
    print "lost $holder\n";
    1;
};
"""

WITHIN = (
    _OURS
    + rf"""
open(my $lock, "<", "{LOCK}") or die "{LOCK}: $!\n";
for (my $until = time + {LOCK_WAIT}; !flock($lock, 6); select(undef, undef, undef, 0.02)) {{
    next if time < $until;
    print STDERR "another netlimits command on this host does not end\n";
    return 75;
}}
return {LOST} if $lost->();
# The program holds the lock as well, as descriptor 9. In this process 9 may be another file.
Kept::ran(sub {{ POSIX::dup2(fileno $lock, 9); Kept::program(@words) }});
"""
)
"""Does what `scripts.WITHIN` does."""

FIRED = (
    _OURS
    + r"""
my $first = sub { open(my $file, "<", $_[0]) or return ""; <$file> // "" };
my $key = $claim =~ s{.*/netlimits-}{}sr =~ s/\.claim\z//r;
my ($boot) = split /-/, $first->("/proc/sys/kernel/random/boot_id");
$key =~ /-\Q$boot\E\z/ or print("lost\n"), return 0;
return 0 if $lost->();
my $guard = ($> ? "$ENV{HOME}/.local/state/netlimits" : "/run/netlimits") . "/$key";
print "fired\n" if -e "$guard.log";
chomp(my $pid = -f "$guard.pid" ? $first->("$guard.pid") : "");
print "dead\n" unless -f "$guard.guard" && $first->("/proc/$pid/stat") =~ /\) [^TtXZ]/;
0;
"""
)
"""Does what `scripts.FIRED` does."""
