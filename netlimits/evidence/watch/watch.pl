# Reports what changed on this host during a run, without a process of its own. It is called with
# `begin` before the run and with `end` after it, and prints the state of the interface each time. In
# between the kernel queues its notifications (rtnetlink, and uevents of CPUs) in two sockets, which
# are read at the end.
my ($act, $interface, @peers) = @_;
my $text = sub { open my $file, "<", $_[0] or return ""; local $/; (<$file> // "") =~ s/\n\z//r };
my $index = $text->("/sys/class/net/$interface/ifindex") || 0;
my $overflow = 105;

# formats an rtnetlink message: its type, the fixed data after its header, and attributes of settings
my %telling = (16 => [3, 4, 6, 10, 13, 31, 32, 40, 41, 43, 44, 48, 58, 63, 64], 20 => [1, 2], 24 => [1, 4 .. 11, 13 .. 22, 30], 32 => [1 .. 3, 6, 15, 17], 36 => [1]);
my %heads = (16 => 16, 20 => 8, 24 => 12, 32 => 12, 36 => 20);
my $shown = sub {
    my $kind = unpack "x4 S", $_[0];
    my $group = $kind < 36 ? $kind & ~3 : 36;
    my ($head, %wanted) = ($heads{$group} // 12, map { $_ => 1 } @{ $telling{$group} });
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

# True for messages about the interface, its addresses and queues; rules; routes over it, over
# several interfaces, or to a peer
my @bits = map unpack("B*", Socket::inet_pton(/:/ ? 10 : 2, $_) // ""), @peers;
my $concerns = sub {
    my ($kind, $family, $of) = unpack "x4 S x10 C x3 l", $_[0];
    return $of == $Watch::index && ($kind > 17 || !$family) if $kind < 24 || $kind > 35;
    return 1 if $kind > 31;
    return 0 if $kind > 25 || unpack("x24 L", $_[0]) & 0x200;
    my $words = $shown->($_[0]);
    my ($out) = $words =~ / 4=(\S{8})/;
    return 1 if !defined $out || unpack("l", pack "H*", $out) == $Watch::index;
    my ($to) = $words =~ / 1=(\S+)/ or return 0;
    my ($length, $network) = (unpack("x17 C", $_[0]), unpack "B*", pack "H*", $to);
    grep { length == length $network && substr($_, 0, $length) eq substr $network, 0, $length } @bits;
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

if ($act eq "begin") {
    ($Watch::index, $Watch::id) = ($index, sprintf "%d.%.6f", $$, Time::HiRes::time());
    my $listen = sub {
        my ($protocol, $groups, @filter) = @_;
        my $program = join "", map pack("S C2 L", @$_), @filter;
        socket my $socket, 16, 3, $protocol or return;
        setsockopt $socket, 1, $_, pack "i", 1 << 20 for 8, 33;
        setsockopt $socket, 1, 26, pack "S x![P] P", scalar @filter, $program;
        bind($socket, pack "S2 L2", 16, 0, 0, $groups) ? $socket : undef;
    };
    # A BPF filter keeps messages about other interfaces out of the queue. It passes routes and rules,
    # and links, queues and addresses of this interface. BPF loads big-endian: the low byte of a type is
    # at offset 4 or 5, an index at 20.
    my ($low, $number) = (4 + unpack("n", pack "S", 1) % 256, unpack "N", pack "l", $index);
    $Watch::links = $listen->(0, 0x405d9, [0x30, 0, 0, $low], [0x35, 0, 1, 24], [0x35, 0, 2, 36],
        [0x20, 0, 0, 20], [0x15, 0, 1, $number], [0x06, 0, 0, 0xffffffff], [0x06, 0, 0, 0]);
    # uevents "online" and "offline"
    $Watch::cpus = $listen->(15, 1, [0x30, 0, 0, 0], [0x15, 0, 1, ord "o"], [0x06, 0, 0, 0xffffffff], [0x06, 0, 0, 0]);
    print "watch $Watch::id\n" if $Watch::links;
} elsif ($Watch::links) {
    print "watch $Watch::id\n";
    my ($count, $link, %told) = (0, "");
    $heard->($Watch::links, sub {
        for (my $at = 0; $at + 16 <= length $_[0];) {
            my ($size) = unpack "L", substr $_[0], $at, 4;
            last if $size < 16;
            my $message = substr $_[0], $at, $size;
            $at += ($size + 3) & ~3;
            next unless $concerns->($message);
            # print every change of the link in order, and all other messages once
            my $words = $shown->($message);
            next if $words =~ /^1[67] / ? $words eq $link : $told{$words}++;
            $link = $words if $words =~ /^1[67] /;
            print ++$count <= 1000 ? "notice $words\n" : "lost\n";
        }
    });
    $heard->($Watch::cpus, sub { print "cpu $1 $2\n" if $_[0] =~ m{^(offline|online)\@/devices/system/cpu/cpu(\d+)\0} }) if $Watch::cpus;
    undef $_ for $Watch::links, $Watch::cpus;
}
print("absent\n"), return 0 unless $index;
print "order ", unpack("H*", pack "S", 1), "\n";

# RTM_GETLINK without statistics; RTM_GETROUTE with RTM_F_FIB_MATCH: the matching entry of the table
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
