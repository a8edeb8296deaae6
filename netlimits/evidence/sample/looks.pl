# Looks at this host while a run goes on, from one process: what `ss -tinmo` tells of connections
# with the other end, in its words, asked of the kernel (sock_diag) without a process for each look;
# and of the tool's threads what /proc has. What is printed is kept until there is much of it.
# What lasts is `our`: a kept Perl compiles all this as one sub, and the subs in it share no `my` of that.
package Looks;
BEGIN {
    # without them `ss` has to do: loading them here costs no process that only tries
    eval { require Time::HiRes; require Socket; 1 }
        or exec "sh", "-c", $ENV{by_ss}, "sh", @ARGV[7 .. $#ARGV];
}
our ($every, $count, $program, $interface, $counting, $carrying, $tools, @peers) = @ARGV;
use Time::HiRes qw(time sleep);
use Socket qw(inet_pton inet_ntop AF_INET AF_INET6);
our ($out, $end, $statistics) = ("", 0, "/sys/class/net/$interface/statistics");
$SIG{TERM} = sub { $end = 1 };
our %peer = map { s/[][]//g; (inet_pton(/:/ ? AF_INET6 : AF_INET, $_) // "") => 1 }
    grep { !/^(or|dst)$/ } @peers;
our $mapped = "\0" x 10 . "\xff" x 2;
our @names = qw(state ca retransmits probes backoff options wscale app_limited
    rto ato mss rcvmss unacked sacked lost held fackets a b c d pmtu rcv_ssthresh
    rtt rttvar ssthresh cwnd advmss reordering rcv_rtt rcv_space retrans
    pacing_rate most bytes_acked bytes_received
    segs_out segs_in notsent minrtt data_segs_in data_segs_out
    delivery_rate busy rwnd_limited sndbuf_limited delivered delivered_ce
    bytes_sent bytes_retrans dsack_dups reord_seen ooo snd_wnd);
our (@threads, @throttled, %last, @known, $settled);
our ($walks, $alone, $interrupted) = (0, 0, 4);
our @queues = glob "/sys/class/net/$interface/queues/tx-*/byte_queue_limits";
socket(our $kernel, 16, 3, 4) or exit 3;

sub text { open(my $f, "<", $_[0]) or return ""; local $/; my $t = <$f>; $t // "" }
sub last_word { (readlink($_[0]) // "-") =~ /(\d+)/ ? $1 : "-" }

sub place {
    my ($family, $address, $port) = @_;
    return inet_ntop(AF_INET, substr($address, 0, 4)) . ":$port" if $family == AF_INET;
    my $old = index($address, $mapped) == 0;
    my $is = $old ? "::ffff:" . inet_ntop(AF_INET, substr($address, 12)) : inet_ntop(AF_INET6, $address);
    "[$is]:$port";
}

sub connection {
    my ($message) = @_;
    my ($family, $state, $sport, $dport, $src, $dst) = unpack("C2 x2 n2 a16 a16", $message);
    my $bare = $family == AF_INET ? substr($dst, 0, 4)
        : index($dst, $mapped) == 0 ? substr($dst, 12) : $dst;
    return unless $peer{$bare} && ($state == 1 || $state == 8);
    my ($waits, $unsent) = unpack("x56 L2", $message);
    my ($at, %part) = (72);
    while ($at + 4 <= length $message) {
        my ($size, $kind) = unpack("S2", substr($message, $at, 4));
        last if $size < 4;
        $part{$kind} = substr($message, $at + 4, $size - 4);
        $at += ($size + 3) & ~3;
    }
    my @values = unpack("C8 L24 Q4 L6 Q4 L2 Q2 L4", $part{2} // "");
    my %is;
    @is{@names[0 .. $#values]} = @values;
    $_ = defined $_ && $_ * 8 for @is{qw(pacing_rate delivery_rate)};
    $_ = defined $_ && $_ / 1000 for @is{qw(rtt rttvar minrtt busy rwnd_limited sndbuf_limited)};
    my @memory = unpack("L9", $part{7} // "");
    my @words = (sprintf "skmem:(r%d,rb%d,t%d,tb%d,f%d,w%d,o%d,bl%d,d%d)", @memory) x (@memory == 9);
    push @words, "ts" if ($is{options} // 0) & 1;
    push @words, unpack("Z*", $part{4}) if $part{4};
    push @words, "rtt:$is{rtt}/$is{rttvar}" if $is{rtt};
    for (qw(mss cwnd rcv_space rcv_ssthresh snd_wnd notsent delivered reord_seen lost
        bytes_sent bytes_retrans bytes_acked bytes_received segs_out data_segs_in)) {
        push @words, "$_:$is{$_}" if defined $is{$_};
    }
    push @words, "retrans:$is{held}/$is{retrans}" if defined $is{retrans};
    push @words, "minrtt:$is{minrtt}" if $is{minrtt} && $is{minrtt} < 4e6;
    push @words, "pacing_rate $is{pacing_rate}bps" if $is{pacing_rate} && $is{pacing_rate} < 1e18;
    push @words, "delivery_rate $is{delivery_rate}bps" if $is{delivery_rate};
    push @words, "app_limited" if ($is{app_limited} // 0) & 1;
    push @words, map { "$_:$is{$_}ms" } qw(busy rwnd_limited sndbuf_limited) if @values > 45;
    $out .= join(" ", "tcp", $state == 1 ? "ESTAB" : "CLOSE-WAIT", $waits, $unsent,
        place($family, $src, $sport), place($family, $dst, $dport), @words) . "\n";
    ($is{bytes_sent} // 0) + ($is{bytes_received} // 0) > 10000 ? 1 : 0;
}

# TCPDIAG_GETSOCK of all that is established or half closed, both families in one walk, or of one
# socket: info, congestion control and memory. Gives the ends of those that carry data.
sub asked {
    my ($family, $ends) = @_;
    my $ask = pack("C4 a48 L2", $family, 0, 0, 74, $ends, 1 << 1 | 1 << 8, 0);
    my $all = $family ? 0x1 : 0x301;
    send($kernel, pack("L S2 L2", 16 + length $ask, 18, $all, 1, 0) . $ask, 0) or return;
    my @ends;
    while (defined recv($kernel, my $buffer, 1 << 17, 0) || $! == $interrupted) {
        my $at = 0;
        while ($at + 16 <= length $buffer) {
            my ($size, $kind) = unpack("L S", substr($buffer, $at, 6));
            return @ends if $kind == 2 || $kind == 3 || $size < 16;
            my $message = substr($buffer, $at + 16, $size - 16);
            push @ends, substr($message, 0, 1) . substr($message, 4, 48) if connection($message);
            return @ends if $family;
            $at += ($size + 3) & ~3;
        }
    }
    @ends;
}

# A walk through the table of all the host's sockets takes caches from what is measured: once one has
# shown all that are to carry data, beside those that did before the run, these alone are asked for, and
# there is a walk in ten looks. Gives how many carry data.
sub connections {
    if ($settled && ++$alone % 10) {
        my @still = map { asked(ord($_), substr($_, 1)) } @known;
        $settled = @still == @known;
        return @still;
    }
    @known = asked(0, "");
    $carrying += @known unless $walks++;
    $settled = @known >= $carrying;
    @known;
}

# what is there, whole: whoever ends the looks may do so in the midst of one
sub printed {
    while (length $out) {
        my $wrote = syswrite STDOUT, $out;
        last unless defined $wrote || $! == $interrupted;
        substr($out, 0, $wrote // 0) = "";
    }
}

sub changed { $out .= "$_[0] $_[1]\n" if ($last{$_[0]} // "") ne $_[1]; $last{$_[0]} = $_[1] }

# the tool's processes as `ps -o netns=,pid=,ppid=,nlwp=,pcpu=,comm=` has them, and where to look on
sub processes {
    my $here = last_word("/proc/self/ns/net");
    my ($uptime) = text("/proc/uptime") =~ /([\d.]+)/;
    for my $process (glob "/proc/[0-9]*") {
        chomp(my $name = text("$process/comm"));
        next if $name ne $program;
        my @is = split " ", text("$process/stat") =~ s/^.*\) //sr;
        next unless @is > 19;
        my $space = last_word("$process/ns/net");
        my $lived = $uptime - $is[19] / 100;
        $out .= sprintf "%s %d %d %d %.1f %s\n", $space, substr($process, 6), $is[1], $is[17],
            $lived > 0 ? ($is[11] + $is[12]) / $lived : 0, $name;
        next if $space ne $here && $space ne "-";
        push @threads, grep { @threads < 64 } glob "$process/task/*/schedstat";
        for (split /\n/, text("$process/cgroup")) {
            my (undef, $of, $path) = split /:/, $_, 3;
            next unless $of eq "" || $of =~ /(^|,)cpu(,|$)/;
            my ($root) = grep { -e "$_$path/cpu.stat" } map { my $m = $_; map { "$m/sys/fs/cgroup$_" } $of eq "" ? ""
                : ("/$of", "/cpu") } "", "/proc/1/root";
            next unless $root;
            for (; ; $path =~ s{/[^/]*$}{}) {
                my $file = "$root$path/cpu.stat";
                push @throttled, $file unless grep { $_ eq $file } @throttled;
                last if $path eq "";
            }
        }
    }
    @throttled = grep { text($_) =~ /throttled/ } @throttled;
    my @mhz = map { int(text($_) / 1000) } glob "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq";
    @mhz = text("/proc/cpuinfo") =~ /^cpu MHz\s*: (\d+)/mg unless @mhz;
    $out .= "mhz @mhz\n" if @mhz;
    chomp(my $speed = text("/sys/class/net/$interface/speed"));
    $out .= "speed $speed\n" if $speed =~ /^[1-9]/;
}

sub more {
    for (@threads) {
        my ($id) = m{task/(\d+)/};
        $out .= "thread $id $1 $2\n" if text($_) =~ /^(\d+) (\d+)/;
    }
    my ($times, $us) = (0, 0);
    for (map { text($_) } @throttled) {
        $times += $1 if /^nr_throttled (\d+)/m;
        $us += $2 eq "usec" ? $3 : $3 / 1000 if /^(throttled_(usec|time)) (\d+)/m;
    }
    changed("throttled", sprintf "%d %d", $times, $us) if @throttled;
    my $queued = 0;
    $queued += text("$_/inflight") || 0 for @queues;
    if ($queued) {
        my $limit = 0;
        $limit += text("$_/limit") || 0 for @queues;
        changed("bql", "$queued $limit");
    }
}

sub counters {
    $out .= "$_:" . text("$statistics/$_") for qw(rx_bytes rx_packets);
    $out .= "/proc/net/snmp:$1\n" if text("/proc/net/snmp") =~ /^(Udp: \d.*)$/m;
    $out .= "/proc/net/snmp6:$1\n" if text("/proc/net/snmp6") =~ /^(Udp6InDatagrams.*)$/m;
    $out .= sprintf "read %.9f\n", time;
}

# Lets whatever else wants this CPU go first: a look in the midst of what is measured makes it wait,
# and what waited then comes in larger pieces, which cost less each. With autogroups `nice` counts
# within a session alone, so this one, which is nobody else's, has a rank of its own. Where looks are
# the measure itself they are few, and keep their rank: a busy host would let seconds pass unseen.
sub step_back {
    my $ours = getpgrp(0) == $$ && open(my $f, ">", "/proc/self/autogroup");
    syswrite($f, "19") if $ours;
    setpriority(0, 0, 19);
}

$out = "namespace " . readlink("/proc/self/ns/net") . "\n";
our ($began, $scans) = (time, 0);
our ($processes, $now);
for (my $n = 1; !$end; $n++) {
    $out .= sprintf "look %.9f\n", time;
    counters() if $counting;
    my $data = connections();
    # once there is data the tool's processes are there, and of datagrams a little later
    if (!@threads && $scans < 3 && ($data || time - $began > 0.7 || $count && $n >= $count)) { $scans++; processes() }
    more();
    step_back() if $n == 1 && !$counting;
    $processes //= Others::processes() if $n > 1;
    printed() if length $out > 16384;
    last if $count && $n >= $count || $end;
    # a look that comes late is not made up for
    my $passed = int((time - $began) / $every);
    $n = $passed if $n < $passed;
    my $rest = $began + $n * $every - time;
    sleep($rest) if $rest > 0;
}
$now = Others::processes() if $processes;
$out .= Others::grown($processes, $now, $tools) if $now;
printed();
