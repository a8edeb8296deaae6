# Samples this host during a run, in one process. It asks the kernel (sock_diag) for connections with the
# other end, which it prints as `ss -tinmo` does, and reads the tool's threads from /proc.
# A sample reads files that stay open and keeps their content. The content becomes text when sampling is over,
# or when there is much of it: formatting would disturb the run, and took 3 to 30 ms a sample on an emulated
# CPU.
# State is `our`: a kept Perl compiles all this as one sub, and the subs in it do not share its `my`.
package Sampler;
BEGIN {
    # without these modules use `ss`; testing for them here needs no extra process
    eval { require Time::HiRes; require Socket; 1 }
        or exec "sh", "-c", $ENV{by_ss}, "sh", @ARGV[7 .. $#ARGV];
}
our ($every, $count, $program, $interface, $counting, $carrying, $tools, @peers) = @ARGV;
use Time::HiRes qw(time sleep clock_gettime CLOCK_MONOTONIC);
use Socket qw(inet_pton inet_ntop AF_INET AF_INET6);
our ($out, $end, $statistics) = ("", 0, "/sys/class/net/$interface/statistics");
$SIG{TERM} = sub { $end = 1; rank(0) unless $counting };
our %peer = map { s/[][]//g; (inet_pton(/:/ ? AF_INET6 : AF_INET, $_) // "") => 1 }
    grep { !/^(or|dst)$/ } @peers;
our $mapped = "\0" x 10 . "\xff" x 2;
our (@threads, @throttled, %last, @known, $settled);
our ($walks, $alone, $interrupted) = (0, 0, 4);
our (%open, $buffer, @kept, $held, $spent);
our @queues = glob "/sys/class/net/$interface/queues/tx-*/byte_queue_limits";
socket(our $kernel, 16, 3, 4) or exit 3;
socket(our $route, 16, 3, 0);
our $ifindex = text("/sys/class/net/$interface/ifindex") || 0;
our $qdisc = pack("C x3 l L3", 0, $ifindex, 0, 0, 0);

sub text { open(my $f, "<", $_[0]) or return ""; local $/; my $t = <$f>; $t // "" }

# the content of a file that each sample reads, up to the block that contains `until`
sub again {
    my ($path, $until) = @_;
    my $file = $open{$path};
    if ($file) { sysseek($file, 0, 0) } else { open($file, "<", $path) or return ""; $open{$path} = $file }
    my $read = "";
    while (sysread $file, $buffer, 65536) {
        $read .= $buffer;
        last unless $until && index($read, $until) < 0;
    }
    delete $open{$path} unless length $read;
    $read;
}

# keeps data for `printed`: text, or a sub and its arguments
sub keep { $held += length $_[-1]; push @kept, [@_] }

sub last_word { (readlink($_[0]) // "-") =~ /(\d+)/ ? $1 : "-" }

sub parts {
    my ($message) = @_;
    my ($at, %part) = (72);
    while ($at + 4 <= length $message) {
        my ($size, $kind) = unpack("S2", substr($message, $at, 4));
        last if $size < 4;
        $part{$kind} = substr($message, $at + 4, $size - 4);
        $at += ($size + 3) & ~3;
    }
    %part;
}

# keeps a connection with the other end; true if it carries data
sub seen {
    my ($message) = @_;
    my ($family, $state, $dst) = unpack("C2 x22 a16", $message);
    my $bare = $family == AF_INET ? substr($dst, 0, 4)
        : index($dst, $mapped) == 0 ? substr($dst, 12) : $dst;
    return unless $peer{$bare} && ($state == 1 || $state == 8);
    keep(\&connection, $message);
    my %part = parts($message);
    my ($received, $sent) = unpack("x128 Q x64 Q", ($part{2} // "") . "\0" x 208);
    $sent + $received > 10000;
}

# Asks (TCPDIAG_GETSOCK) for all established and half closed sockets of both families, or for one socket, with
# info, congestion control and memory. Returns the ends of those that carry data.
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
            push @ends, substr($message, 0, 1) . substr($message, 4, 48) if seen($message);
            return @ends if $family;
            $at += ($size + 3) & ~3;
        }
    }
    @ends;
}

# Walking through all of the host's sockets evicts the measured programs from caches. Once a walk has found all
# connections that will carry data, besides those from before the run, samples ask for these alone, and only
# every tenth sample walks. Returns the number of connections that carry data.
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

# writes everything kept; a signal may interrupt the write, which then goes on
sub printed {
    for (splice @kept) {
        my ($as, @what) = @$_;
        $out .= ref $as ? $as->(@what) : $as;
    }
    $held = 0;
    while (length $out) {
        my $wrote = syswrite STDOUT, $out;
        last unless defined $wrote || $! == $interrupted;
        substr($out, 0, $wrote // 0) = "";
    }
}

sub changed { keep("$_[0] $_[1]\n") if ($last{$_[0]} // "") ne $_[1]; $last{$_[0]} = $_[1] }

# The tool's processes and their children (a program may be a script that starts the tool), as
# `ps -o netns=,pid=,ppid=,nlwp=,pcpu=,comm=` prints them, and the files to sample. First only those younger
# than this process, and all others if none is the tool's: reading each takes long.
sub processes {
    opendir(my $proc, "/proc") or return;
    my @pids = grep { /^[0-9]+$/ } readdir $proc;
    processes_of(grep { $_ > $$ } @pids) or processes_of(@pids);
    @throttled = grep { text($_) =~ /throttled/ } @throttled;
    my @mhz = map { int(text($_) / 1000) } glob "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq";
    @mhz = text("/proc/cpuinfo") =~ /^cpu MHz\s*: (\d+)/mg unless @mhz;
    keep("mhz @mhz\n") if @mhz;
    chomp(my $speed = text("/sys/class/net/$interface/speed"));
    keep("speed $speed\n") if $speed =~ /^[1-9]/;
}

sub processes_of {
    my (%name, %stat, %ours);
    for (@_) {
        my ($pid, $comm, $rest) = text("/proc/$_/stat") =~ /^(\d+) \((.*)\) (.*)/s or next;
        my @is = split " ", $rest;
        next unless @is > 19;
        ($name{$pid}, $stat{$pid}) = ($comm, \@is);
        $ours{$pid} = 1 if $comm eq $program;
    }
    my @more = keys %ours;
    while (@more) {
        my %parent = map { $_ => 1 } @more;
        @more = grep { !$ours{$_} && $parent{$stat{$_}[1]} } keys %stat;
        @ours{@more} = (1) x @more;
    }
    my $here = last_word("/proc/self/ns/net");
    my ($uptime) = text("/proc/uptime") =~ /([\d.]+)/;
    my $found = 0;
    for my $pid (sort { $a <=> $b } keys %ours) {
        my ($process, @is) = ("/proc/$pid", @{$stat{$pid}});
        my $space = last_word("$process/ns/net");
        my $lived = $uptime - $is[19] / 100;
        keep(sprintf "%s %d %d %d %.1f %s\n", $space, $pid, $is[1], $is[17],
            $lived > 0 ? ($is[11] + $is[12]) / $lived : 0, $name{$pid});
        next if $space ne $here && $space ne "-";
        $found++;
        push @threads, grep { @threads < 64 } glob "$process/task/*/schedstat";
        push @throttled, grep { my $file = $_; !grep { $_ eq $file } @throttled } quotas("$process/cgroup");
    }
    $found;
}

# the files of a process's control groups, with how often their quotas throttled it
sub quotas {
    my @files;
    for (split /\n/, text($_[0])) {
        my (undef, $of, $path) = split /:/, $_, 3;
        next unless $of eq "" || $of =~ /(^|,)cpu(,|$)/;
        my ($root) = grep { -e "$_$path/cpu.stat" } map { my $m = $_; map { "$m/sys/fs/cgroup$_" } $of eq "" ? ""
            : ("/$of", "/cpu") } "", "/proc/1/root";
        next unless $root;
        for (; ; $path =~ s{/[^/]*$}{}) {
            push @files, "$root$path/cpu.stat";
            last if $path eq "";
        }
    }
    @files;
}

sub more {
    keep(\&thread, $_, again($_)) for @threads;
    my ($times, $us) = (0, 0);
    for (map { again($_) } @throttled) {
        $times += $1 if /^nr_throttled (\d+)/m;
        $us += $2 eq "usec" ? $3 : $3 / 1000 if /^(throttled_(usec|time)) (\d+)/m;
    }
    changed("throttled", sprintf "%d %d", $times, $us) if @throttled;
    my $queued = 0;
    $queued += again("$_/inflight") || 0 for @queues;
    if ($queued) {
        my $limit = 0;
        $limit += again("$_/limit") || 0 for @queues;
        changed("bql", "$queued $limit");
    }
}

# Asks for the interface's root qdisc, in a dump of all: to ask for it alone notifies everybody who listens to
# changes. An interface without a queue is not asked for again.
sub backlog {
    return unless $route;
    my $mine;
    send($route, pack("L S2 L2", 16 + length $qdisc, 38, 0x301, 1, 0) . $qdisc, 0) or return $route = undef;
    PART: while (defined recv($route, my $part, 1 << 16, 0x40)) {
        my $at = 0;
        while ($at + 16 <= length $part) {
            my ($size, $kind) = unpack("L S", substr($part, $at, 6));
            last PART if $kind == 2 || $kind == 3 || $size < 36;
            my ($index, undef, $parent) = unpack("x20 l L2", substr($part, $at, 36));
            $mine = substr($part, $at, $size) if $index == $ifindex && $parent == 0xffffffff;
            $at += ($size + 3) & ~3;
        }
    }
    return $route = undef unless $mine;
    keep(\&queue, $mine);
}

sub counters {
    keep("$_:" . again("$statistics/$_")) for qw(rx_bytes rx_packets);
    keep("/proc/net/snmp:$1\n") if again("/proc/net/snmp") =~ /^(Udp: \d.*)$/m;
    keep("/proc/net/snmp6:$1\n") if again("/proc/net/snmp6") =~ /^(Udp6InDatagrams.*)$/m;
    keep(sprintf "read %.9f\n", time);
}

# Keeps the CPUs' times and the interface's bytes, and returns the latter; see `ticks`.
sub cpus {
    my ($stat, $at) = (again("/proc/stat", "\nintr"), clock_gettime(CLOCK_MONOTONIC));
    my $bytes = 0;
    $bytes += again("$statistics/$_") || 0 for qw(rx_bytes tx_bytes);
    keep(\&ticks, $at, $bytes, again("/proc/self/schedstat"), substr($stat, 0, index($stat, "\nintr")));
    $bytes;
}

# seconds of CPU since the last call
sub cost {
    my $used = again("/proc/self/schedstat") =~ /^(\d+)/ ? $1 / 1e9 : 0;
    my $since = $used - $spent;
    $spent = $used;
    $since;
}

# Sets the priority. During sampling everything else on this CPU goes first: a sample that interrupts the
# measured work makes it come in larger pieces, which cost less each. With autogroups `nice` counts only within
# a session, so this session of one process sets the priority of its autogroup too. If the samples are the
# measurement, they are few and keep their priority, because a busy host could let seconds pass without one.
# When sampling ends, nothing is measured and the controller waits for the text, so the priority returns to
# normal: otherwise printing took seconds on a busy host, and was killed. (Without root only the autogroup's
# priority returns.)
sub rank {
    my $ours = getpgrp(0) == $$ && open(my $f, ">", "/proc/self/autogroup");
    syswrite($f, $_[0]) if $ours;
    setpriority(0, 0, $_[0]);
}

# Sampling ends by itself before the run does, a number of samples after the first one with data; otherwise the
# controller would have to end it and wait. The tool may start slowly: the first samples come quickly until
# there are data, and without data sampling ends later. At least two samples have data. After TERM there is one
# more sample, which shows whether data still flow.
$out = "namespace " . readlink("/proc/self/ns/net") . "\n";
our ($began, $scans, $late) = (time, 0, 5);
our $until = $count && $began + $count * $every + $late;
our ($with_data, $bytes, $processes, $now, $looks, $usual);
our ($quick, $moment, $rate) = ($counting ? 0 : 10, 0.05, 500000);
our $looked = $began;
for (my $n = 1; ; $n++) {
    my $ends = $end;
    keep(sprintf "look %.9f\n", time);
    my $moved = cpus();
    counters() if $counting;
    my $data = connections();
    my $since = time - $looked;
    if (!$with_data && ($data || defined $bytes && $moved > $bytes + $rate * $since)) {
        ($with_data, $quick) = (1, 0);
        $began = time - ($n - 1) * $every unless $counting;
        $until &&= time + ($count - !$counting) * $every;
    }
    ($bytes, $looked) = ($moved, time);
    # the tool's processes exist once there are data, with datagrams a little later
    if (!@threads && $scans < 3 && ($with_data || time - $began > 0.7)) { $scans++; processes() }
    more();
    backlog();
    rank(19) if $n == 1 && !$counting && !$end;
    # reading all processes takes long: do it in the first sample, before the tool starts
    $processes //= Others::processes();
    printed() if $held > 1e6;
    # skip samples whose time has passed
    my $passed = int((time - $began) / $every);
    $n = $passed if $n < $passed;
    # expensive samples (on an emulated CPU) are fewer, but at least eight in a run
    my ($cost, $before) = (cost(), $usual);
    $usual = $cost;
    $cost = $before if !defined $before || $before < $cost;
    my $stride = ($cost // 0) / 0.02 / $every;
    my $eighth = $count / 8;
    $stride = $eighth if $stride > $eighth;
    $n += int($stride) - 1 if $stride > 1;
    my $next = $began + $n * $every;
    if ($quick-- > 0) {
        my $soon = ($cost // 0) / 0.02;
        $soon = $moment if $soon < $moment;
        $next = time + $soon if $soon < $every;
    }
    $looks++ if $with_data;
    last if $ends || $until && $next > $until + $every / 2 && (!$with_data || $looks > 1);
    my $rest = $next - time;
    sleep($rest) if $rest > 0 && !$end;
}
rank(0) unless $counting;
printed();
$now = Others::processes() if $processes;
keep(Others::grown($processes, $now, $tools)) if $now;
printed();
