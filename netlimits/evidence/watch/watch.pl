# Tells what changed on this host during a run, without a process of its own: `begin` before the run,
# `end` after it. In between the kernel keeps its notifications (rtnetlink, and uevents of CPUs) in
# the queues of two sockets, which nobody reads until the end. Both print the state of the interface.
my ($act, $interface, $names, @peers) = @_;
my $text = sub { open my $file, "<", $_[0] or return ""; local $/; (<$file> // "") =~ s/\n\z//r };
my $index = $text->("/sys/class/net/$interface/ifindex") || 0;
my $overflow = 105;

# an rtnetlink message: its type, what follows its header, and the attributes that tell of a setting
my %telling = (16 => [3, 4, 6, 10, 13, 31, 32, 40, 41, 43, 44, 48, 58, 63, 64], 20 => [1, 2], 24 => [1, 4 .. 11, 13 .. 22, 30], 36 => [1]);
my $shown = sub {
    my $kind = unpack "x4 S", $_[0];
    my ($group, $head) = $kind < 20 ? (16, 16) : $kind < 24 ? (20, 8) : $kind < 28 ? (24, 12) : (36, 20);
    my %wanted = map { $_ => 1 } @{ $telling{$group} };
    my ($at, @words) = (16 + $head, $kind, unpack "H*", substr $_[0], 16, $head);
    while ($at + 4 <= length $_[0]) {
        my ($size, $type) = unpack "S2", substr $_[0], $at, 4;
        last if $size < 4;
        $type &= 0x3fff;
        push @words, "$type=" . unpack "H*", substr $_[0], $at + 4, $size - 4 if $wanted{$type};
        $at += ($size + 3) & ~3;
    }
    join " ", @words;
};

my $answer = sub {
    my ($kind, $body) = @_;
    socket my $kernel, 16, 3, 0 or return "";
    send $kernel, pack("L S2 L2", 16 + length $body, $kind, 1, 1, 0) . $body, 0 or return "";
    defined recv $kernel, my $got, 1 << 16, 0 or return "";
    my ($size, $type) = unpack "L S", $got;
    $type > 3 ? $shown->(substr $got, 0, $size) : "";
};

# of the interface itself, of its addresses and queues; and routes over it, or over several
my $concerns = sub {
    my ($kind, $family, $of) = unpack "x4 S x10 C x3 l", $_[0];
    return $of == $Watch::index && ($kind > 17 || !$family) if $kind < 24 || $kind > 35;
    return 0 if $kind > 25 || unpack("x24 L", $_[0]) & 0x200;
    my ($out) = $shown->($_[0]) =~ / 4=(\S{8})/;
    !defined $out || unpack("l", pack "H*", $out) == $Watch::index;
};

my $heard = sub {
    my ($socket, $each) = @_;
    while (1) {
        if (!defined recv $socket, my $got, 1 << 16, 0x40) {
            next if $! == 4;
            last if $! != $overflow;
            print "lost\n";
        } else {
            $each->($got);
        }
    }
};

# CPU time of every process, and of the children that it waited for, without ours and the kernel's
my $times = sub {
    my (%of, %parent, %name, $top);
    opendir my $processes, "/proc" or return;
    for my $pid (grep !/\D/ && !$Watch::kernels{$_}, readdir $processes) {
        open my $file, "<", "/proc/$pid/stat" or next;
        sysread $file, my $line, 1024 or next;
        my $end = rindex $line, ")";
        my @is = split " ", substr($line, $end + 1), 21;
        $Watch::kernels{$pid} = 1, next if $is[6] & 0x200000;
        ($parent{$pid}, $name{$pid}) = ($is[1], substr $line, index($line, "(") + 1, $end - index($line, "(") - 1);
        # who waits for all that nobody else does has no part in them
        $of{$pid} = [$is[19], $is[11] + $is[12] + ($pid > 1 && $is[13] + $is[14])];
    }
    return unless $of{1};
    $top = $$;
    $top = $parent{$top} while ($name{$top} // "") =~ /^(perl|busybox|\w*sh)$/ && $parent{$top} > 1;
    my %own = ($top => 1, 1 => 0, 0 => 0);
    my $ours;
    $ours = sub { $own{$_[0]} //= exists $parent{$_[0]} ? $ours->($parent{$_[0]}) : 0 };
    delete @of{grep { $ours->($_) || $name{$_} =~ /^($names)/ } keys %of};
    [Time::HiRes::time(), \%of, \%parent, \%name];
};

my $others = sub {
    my ($began, $was, $parent) = @{ shift() };
    my ($ended, $is, undef, $name) = @{ shift() };
    my %grown;
    for my $pid (keys %$is) {
        my $same = $was->{$pid} && $was->{$pid}[0] == $is->{$pid}[0];
        $grown{$pid} = $is->{$pid}[1] - ($same ? $was->{$pid}[1] : 0);
    }
    # what a process took before is in the account of the one that waited for its end
    for my $pid (grep !$is->{$_} || $is->{$_}[0] != $was->{$_}[0], keys %$was) {
        my $heir = $parent->{$pid};
        $heir = $parent->{$heir} while $heir && !$is->{$heir};
        $grown{$heir} -= $was->{$pid}[1] if $heir && exists $grown{$heir};
    }
    my ($all, @busy) = (0, sort { $grown{$b} <=> $grown{$a} } grep $grown{$_} > 0, keys %grown);
    $all += $grown{$_} for @busy;
    printf "others %.2f of %.3f\n", $all / 100, $ended - $began;
    printf "other %.2f %d %s\n", $grown{$_} / 100, $_, $name->{$_} =~ s/[^ -~]/?/gr for grep defined, @busy[0 .. 2];
};

if ($act eq "begin") {
    ($Watch::index, $Watch::id) = ($index, sprintf "%d.%.6f", $$, Time::HiRes::time());
    $Watch::times = $times->();
    my $listen = sub {
        my ($protocol, $groups) = @_;
        socket my $socket, 16, 3, $protocol or return;
        setsockopt $socket, 1, $_, pack "i", 1 << 20 for 8, 33;
        bind($socket, pack "S2 L2", 16, 0, 0, $groups) ? $socket : undef;
    };
    # links, queues, addresses and routes
    ($Watch::links, $Watch::cpus) = ($listen->(0, 0x559), $listen->(15, 1));
    print "watch $Watch::id\n" if $Watch::links;
} elsif ($Watch::links) {
    print "watch $Watch::id\n";
    my $count = 0;
    $heard->($Watch::links, sub {
        for (my $at = 0; $at + 16 <= length $_[0];) {
            my ($size) = unpack "L", substr $_[0], $at, 4;
            last if $size < 16;
            my $message = substr $_[0], $at, $size;
            print "notice ", $shown->($message), "\n" if $concerns->($message) && ++$count <= 100;
            $at += ($size + 3) & ~3;
        }
    });
    $heard->($Watch::cpus, sub { print "cpu $1 $2\n" if $_[0] =~ m{^(offline|online)\@/devices/system/cpu/cpu(\d+)\0} }) if $Watch::cpus;
    my $now = $Watch::times && $times->();
    $others->($Watch::times, $now) if $now;
    undef $_ for $Watch::links, $Watch::cpus, $Watch::times;
}
print("absent\n"), return 0 unless $index;
print "order ", unpack("H*", pack "S", 1), "\n";

# RTM_GETLINK without statistics, RTM_GETROUTE for the entry of the table
print "link ", $answer->(18, pack "C x S l L2 S2 L", 0, 0, $index, 0, 0, 8, 29, 8), "\n";
for my $peer (@peers) {
    my $family = $peer =~ /:/ ? 10 : 2;
    my $address = Socket::inet_pton($family, $peer) // next;
    my $route = $answer->(26, pack("C8 L S2", $family, 8 * length $address, (0) x 6, 0x2000, 4 + length $address, 1) . $address);
    print "route $peer $route\n" if $route;
}
my $driver = eval { Kept::driver($interface) } or return 0;
@Watch::names = Kept::strings($driver, 4) unless @Watch::names;
my $blocks = int((@Watch::names + 31) / 32);
my $features = pack "L2 x" . 16 * $blocks, 0x3a, $blocks;
if ($blocks && $driver->($features)) {
    my @on = map $_ % 4 == 2 ? (unpack "x8 L*", $features)[$_] : (), 0 .. 4 * $blocks - 1;
    print "features ", join(" ", map $on[$_ / 32] >> $_ % 32 & 1 ? $Watch::names[$_] : (), 0 .. $#Watch::names), "\n";
}
for (["rings", 0x10, 8, qw(x x x x rx mini jumbo tx)], ["channels", 0x3c, 8, qw(x x x x rx tx other combined)],
    ["pause", 0x12, 3, qw(autoneg rx tx)]) {
    my ($what, $command, $count, @called) = @$_;
    my $request = pack "L x" . 4 * $count, $command;
    next unless $driver->($request);
    my @values = unpack "x4 L$count", $request;
    print join(" ", $what, map { $called[$_] eq "x" ? () : "$called[$_]=$values[$_]" } 0 .. $#called), "\n";
}
for (qw(speed duplex gro_flush_timeout napi_defer_hard_irqs threaded)) {
    my $value = $text->("/sys/class/net/$interface/$_");
    print "$_ $value\n" if length $value && $value !~ /^-|unknown/;
}
0;
