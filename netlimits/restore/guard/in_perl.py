"""The scripts that every run needs of a claim, in Perl, for hosts that keep one.

A shell starts programs for a lock and to read a link; Perl needs none. `hosts.perl` documents what
such Perl gets and returns.
"""

from __future__ import annotations

from netlimits.restore.guard.scripts import LOCK, LOCK_WAIT, LOST, UNGUARDED

_OURS = r"""
my ($mine, $claim, @words) = @_;
$mine =~ s/}\z/,/;
my $lost = sub {
    my $holder = readlink($claim) // "";
    return 0 if index($holder, $mine) == 0;
    print "lost $holder\n";
    1;
};
my $first = sub { open(my $file, "<", $_[0]) or return ""; <$file> // "" };
my $whole = sub { $first->($_[0]) =~ /\A([0-9]+)/ ? $1 : 0 };
my $files = sub {
    my $key = $claim =~ s{.*/netlimits-}{}sr =~ s/\.claim\z//r;
    (($> ? "$ENV{HOME}/.local/state/netlimits" : "/run/netlimits") . "/$key", $key);
};
my $working = sub {
    my ($guard) = @_;
    chomp(my $pid = -f "$guard.pid" ? $first->("$guard.pid") : "");
    -f "$guard.guard" && $first->("/proc/$pid/stat") =~ /\) [^TtXZ]/;
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
if (shift(@words) eq "guarded") {{
    my ($guard) = $files->();
    return {UNGUARDED} unless $whole->("$guard.deadline") > $whole->("/proc/uptime");
    return {UNGUARDED} unless $working->($guard);
}}
# The program holds the lock as well, as descriptor 9. In this process 9 may be another file.
Kept::ran(sub {{ POSIX::dup2(fileno $lock, 9); Kept::program(@words) }});
"""
)
"""Does what `scripts.WITHIN` does."""

FIRED = (
    _OURS
    + r"""
my ($guard, $key) = $files->();
my ($boot) = split /-/, $first->("/proc/sys/kernel/random/boot_id");
$key =~ /-\Q$boot\E\z/ or print("lost\n"), return 0;
return 0 if $lost->();
print "fired\n" if -e "$guard.log";
print "dead\n" unless $working->($guard);
0;
"""
)
"""Does what `scripts.FIRED` does."""
