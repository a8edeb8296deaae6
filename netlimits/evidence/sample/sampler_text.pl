# Formats the data that sampler.pl keeps: connections as `ss -tinmo` prints them, the CPUs' times, threads. This
# file follows sampler.pl in one program: only BEGIN blocks and subs here exist when that one runs.
package Sampler;
our (@names, @ticks);
BEGIN { @names = qw(state ca retransmits probes backoff options wscale app_limited
    rto ato mss rcvmss unacked sacked lost held fackets a b c d pmtu rcv_ssthresh
    rtt rttvar ssthresh cwnd advmss reordering rcv_rtt rcv_space retrans
    pacing_rate most bytes_acked bytes_received
    segs_out segs_in notsent minrtt data_segs_in data_segs_out
    delivery_rate busy rwnd_limited sndbuf_limited delivered delivered_ce
    bytes_sent bytes_retrans dsack_dups reord_seen ooo snd_wnd) }

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
    my ($waits, $unsent) = unpack("x56 L2", $message);
    my %part = parts($message);
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
    push @words, "ssthresh:$is{ssthresh}" if $is{ssthresh} && $is{ssthresh} < 0x7fffffff;
    push @words, map { "$_:$is{$_}" } grep { $is{$_} } qw(unacked delivered_ce);
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
    join(" ", "tcp", $state == 1 ? "ESTAB" : "CLOSE-WAIT", $waits, $unsent,
        place($family, $src, $sport), place($family, $dst, $dport), @words) . "\n";
}

sub thread {
    my ($id) = $_[0] =~ m{task/(\d+)/};
    $_[1] =~ /^(\d+) (\d+)/ ? "thread $id $1 $2\n" : "";
}

# `queue PACKETS BYTES DROPS REQUEUES OVERLIMITS` of the data interface's qdisc, from an RTM_NEWQDISC
sub queue {
    my ($message) = @_;
    my ($at, $stats) = (36, 0);
    while ($at + 4 <= length $message) {
        my ($size, $kind) = unpack("S2", substr($message, $at, 4));
        last if $size < 4;
        # TCA_STATS2 holds TCA_STATS_QUEUE
        ($stats, $at) = (1, $at + 4), next if $kind == 7 && !$stats;
        return sprintf "queue %d %d %d %d %d\n", unpack("L5", substr($message, $at + 4, 20))
            if $kind == 3 && $stats && $size >= 24;
        $at += ($size + 3) & ~3;
    }
    "";
}

# `cpus SECONDS BYTES OWN CPU:TICKS CPU:TICKS …`: BYTES passed the interface, this process used OWN
# nanoseconds, and TICKS are the growth of the columns of /proc/stat since the last sample, without zeros at
# the end.
sub ticks {
    my ($at, $bytes, $own, $stat) = @_;
    my @parts;
    for (split /\n/, $stat) {
        my ($cpu, @now) = split " ";
        next unless $cpu =~ s/^cpu(\d+)$/$1/;
        @now = @now[0 .. 7];
        my $then = $ticks[$cpu];
        $ticks[$cpu] = [@now];
        @now = map { $now[$_] - $then->[$_] } 0 .. 7 if $then;
        pop @now while @now && !$now[-1];
        push @parts, "$cpu:" . join(",", @now);
    }
    sprintf "cpus %.6f %.0f %.0f %s\n", $at, $bytes, (split " ", $own)[0] // 0, join(" ", @parts);
}
