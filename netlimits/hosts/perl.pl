# Kept open on a host instead of `sh` (perl.py). Like the lines of shell.py with `timeout`, it runs
# commands under a deadline, each in a session of its own, and marks both outputs. It evaluates a
# command's Perl code in this process, so that reading files and clocks starts no other one.
# It ends when its input ends.
package Kept;
use POSIX ();
use Socket ();
use Time::HiRes ();

# in a fork: exit without freeing memory, which would copy it first
BEGIN { *CORE::GLOBAL::exit = sub { flushed(); POSIX::_exit($_[0] // 0) } }

# Both outputs are buffered until a process starts, which flushes them, or the last command is over:
# sending a packet costs more than taking the reading in it.
open(my $errors, ">&", *STDERR) or die;
*STDERR = *$errors{IO};

sub flushed { for my $output (*STDERR, *STDOUT) { select $output; ($|, $|) = (1, 0) } }

sub printed { for my $output (*STDOUT, *STDERR) { print $output $_[0] } }

sub compiled { eval "package main; sub { $_[0] \n}" or die $@ }

my ($child, $grace, $busy, $over, $late, %perl, %open) = (0);
my $ends = POSIX::SigSet->new(POSIX::SIGALRM(), POSIX::SIGTERM());

sub status { $? & 127 ? 128 + ($? & 127) : $? >> 8 }

# at the deadline or at TERM: ends the running process, with KILL after the grace, and skips the rest
sub ended {
    return unless $busy;
    ($over, $late) = (1, $_[0] eq "ALRM");
    $SIG{ALRM} = sub { kill KILL => $child, -$child if $child };
    Time::HiRes::alarm($grace);
    $child ? kill TERM => $child, -$child : die "ended\n";
}

# in a fork: runs a program with its arguments, or a sub
sub become {
    my ($input, $first, @words) = @_;
    $SIG{$_} = "DEFAULT" for qw(ALRM TERM);
    POSIX::sigprocmask(POSIX::SIG_UNBLOCK(), $ends);
    POSIX::setsid();
    open STDIN, "<" . (ref $input && "&"), $input;
    if (ref $first) {
        eval { $first->(); 1 } and exit 0;
        print STDERR $@;
        exit 255;
    }
    program($first, @words);
}

# in a fork: executes a program
sub program {
    my ($first) = @_;
    exec { $first } @_;
    my $missing = $! == POSIX::ENOENT();
    print STDERR "perl: $first: ", $missing ? "not found" : $!, "\n";
    exit($missing ? 127 : 126);
}

# starts a process; signals are blocked from the fork until its id is known
sub begun {
    my ($fork, @command) = @_;
    die "ended\n" if $over;
    POSIX::sigprocmask(POSIX::SIG_BLOCK(), $ends);
    my $pid = $fork->();
    become("/dev/null", @command) if defined $pid && !$pid;
    $child = $pid // 0;
    POSIX::sigprocmask(POSIX::SIG_UNBLOCK(), $ends);
    $child or die "fork: $!\n";
}

# runs a program, or a sub in a process of its own; returns its status
sub ran {
    begun(sub { fork }, @_);
    waitpid $child, 0;
    kill KILL => -$child;
    $child = 0;
    status();
}

# runs a program; returns its status and its output
sub output {
    my $pipe;
    begun(sub { open $pipe, "-|" }, @_);
    my $text = join "", <$pipe>;
    close $pipe;
    kill KILL => -$child;
    $child = 0;
    (status(), $text);
}

# returns the line that a program answers to `line`, without its newline, or nothing if it answers
# nothing; `output` then shows the error. The program is kept for this line until `state` changes.
sub answer {
    my ($state, $line, @command) = @_;
    my $kept = delete $open{$line};  # a program that is interrupted is not used again
    $kept = undef if $kept && $kept->[0] ne $state;
    my (undef, $to, $from) = @{ $kept ||= [$state, opened(@command)] };
    local $SIG{PIPE} = "IGNORE";
    syswrite $to, "$line\n";
    my $answer = <$from> // return;
    $open{$line} = $kept if chomp $answer;
    $answer;
}

# starts a program and returns pipes to and from it; it ends when they are closed
sub opened {
    pipe(my $in, my $to) && pipe(my $from, my $out) or die "pipe: $!\n";
    flushed();
    defined(my $pid = fork) or die "fork: $!\n";
    if (!$pid) {
        close $_ for $to, $from;
        exit 0 if fork;  # no process has to wait for it
        open STDOUT, ">&", $out;
        open my $null, ">", "/dev/null";
        POSIX::dup2(fileno $null, 2);
        become($in, @_);
    }
    waitpid $pid, 0;
    ($to, $from);
}

# returns a sub that sends a request to an interface's driver as ethtool does (linux/ethtool.h); the
# answer overwrites the request
sub driver {
    my ($interface) = @_;
    socket my $device, 2, 2, 0 or die "socket: $!\n";
    sub { ioctl $device, 0x8946, my $name = pack "a16 P x16", $interface, $_[0] };
}

# returns the names of a driver's set of counters or switches; none if it has no such set
sub strings {
    my ($driver, $which) = @_;
    my $set = pack "L2 Q L", 0x37, 0, 1 << $which, 0;
    my $count = $driver->($set) && unpack "x16 L", $set or return;
    my $names = pack "L3 x" . 32 * (2 * $count + 128), 0x1b, $which, $count;  # in case of more by now
    $driver->($names) ? unpack "x12 (Z32)$count", $names : ();
}

# returns the sub of a text, compiled once
sub known { $perl{$_[0]} //= compiled($_[0]) }

sub step {
    my ($text, @words) = @_;
    return ran(@words) unless length $text;
    my $status = eval { known($text)->(@words) };
    return ($status || 0) unless $@;
    print STDERR $@ unless $over;
    $over ? 143 : 255;
}

$SIG{TERM} = \&ended;
printed("$ARGV[0]$ARGV[1]$> $ARGV[2] \n");
flushed();
while (defined(my $line = <STDIN>)) {
    (my ($half, $other, $size, $deadline), $grace) = split " ", $line;
    last unless $size == read STDIN, my $request, $size;
    my $nonce = $half . $other;
    ($busy, $over, $late) = (1, 0, 0);
    my ($mark, @fields) = unpack "(N/a*)*", $request;
    printed("$nonce$$\n");
    $SIG{ALRM} = sub {
        flushed();  # the controller learns the process id of a command that does not end soon
        $SIG{ALRM} = \&ended;
        Time::HiRes::alarm($deadline);
    };
    Time::HiRes::alarm(0.05);
    my $status = 143;
    eval {
        while (@fields) {
            my $count = shift @fields;
            $status = step(splice @fields, 0, $count);
            last if $over;
            printed("\n$mark $status\n") if length $mark;
        }
    };
    $busy = 0;
    Time::HiRes::alarm(0);
    printed($nonce . ($late ? 124 : $status) . "\n");
    flushed();
}
