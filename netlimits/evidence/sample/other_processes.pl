# CPU time of processes that are neither the tool's nor ours, between two readings of /proc/PID/stat. This file
# follows sampler.pl, which first makes sure that the host has the modules.
package Others;
use POSIX ();
use Time::HiRes ();
our (%kernels, $ticks);

# returns the middle of the time that the reading took, which is long on a busy host, and each process's line,
# without the kernel's own processes
sub processes {
    my ($began, %line) = Time::HiRes::time();
    opendir my $folder, "/proc" or return;
    for my $pid (grep !/\D/ && !$kernels{$_}, readdir $folder) {
        my $file = POSIX::open("/proc/$pid/stat", 0) // next;  # a handle of Perl's costs half as much again
        my $size = POSIX::read($file, my $text, 1024);
        POSIX::close($file);
        $size or next;
        $line{$pid} = $text;
        $kernels{$pid} //= ((split " ", substr $text, rindex $text, ")")[7] // 0) & 0x200000;
    }
    $line{1} ? [($began + Time::HiRes::time()) / 2, \%line] : undef;
}

# returns a process's name, parent, start time, CPU time with that of the children it waited for, and their part
sub of {
    my $end = rindex $_[0], ")";
    my @is = split " ", substr $_[0], $end + 1;
    # leave out the children of init, which waits for every orphan
    my $children = $_[0] =~ /^1 / ? 0 : $is[13] + $is[14];
    (substr($_[0], index($_[0], "(") + 1, $end - index($_[0], "(") - 1), $is[1], $is[19], $is[11] + $is[12] + $children, $children);
}

# returns `others SECONDS of SECONDS`, and `other SECONDS PID NAME` of each of the three busiest; `$names` are
# the tool's processes
sub grown {
    my ($then, $now, $names) = @_;
    my ($seconds, $was, $is) = ($now->[0] - $then->[0], $then->[1], $now->[1]);
    return "" if $seconds < 0.1;
    my $top = $$;
    while ($is->{$top}) {
        my ($name, $parent) = of($is->{$top});
        last if $name !~ /^(perl|busybox|\w*sh)$/ || $parent < 2;
        $top = $parent;
    }
    my (%grown, %name);
    my $inherited = sub {  # the CPU time of children that a process waited for between the readings
        my ($pid, @then) = ($_[0], of($was->{$_[0]}));
        my @now = of($is->{$pid} // return 0);
        $now[4] - ($then[2] == $now[2] ? $then[4] : 0);
    };
    for my $pid (keys %$is) {
        next if ($was->{$pid} // "") eq $is->{$pid};
        my ($name, $parent, $began, $used) = of($is->{$pid});
        my $above = $pid;
        (undef, $above) = of($is->{$above}) while $above != $top && $is->{$above};
        next if $above == $top || $name =~ /^($names)/;
        my (undef, undef, $first, $before) = $was->{$pid} ? of($was->{$pid}) : ("", 0, -1, 0);
        $grown{$pid} = $used - ($first == $began ? $before : 0);
        $name{$pid} = $name =~ s/[^ -~]/?/gr;
    }
    # the time of an ended process is now part of that of the process that waited for it
    for my $pid (keys %$was) {
        my ($name, $heir, $began, $used) = $is->{$pid} && $was->{$pid} eq $is->{$pid} ? next : of($was->{$pid});
        next if $is->{$pid} && (of($is->{$pid}))[2] == $began;
        # an orphan is inherited by an ancestor further up (a subreaper); 2 ticks are lost by rounding
        (undef, $heir) = of($was->{$heir}) while $was->{$heir} && $inherited->($heir) < $used - 2;
        $grown{$heir} -= $used if exists $grown{$heir};
    }
    $ticks ||= POSIX::sysconf(POSIX::_SC_CLK_TCK()) || 100;
    my ($all, @busy) = (0, sort { $grown{$b} <=> $grown{$a} } grep $grown{$_} > 0, keys %grown);
    $all += $grown{$_} for @busy;
    join "", sprintf("others %.2f of %.3f\n", $all / $ticks, $seconds),
        map { sprintf "other %.2f %d %s\n", $grown{$_} / $ticks, $_, $name{$_} } grep defined, @busy[0 .. 2];
}
