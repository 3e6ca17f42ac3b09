# The agent: the first process of a box that is held open, in Perl, because that is on every Debian (perl-base), starts in a millisecond and
# forks in less. It starts what the runner orders, carries input and output, and reaps whatever has ended. PROTOCOL.md says what it hears and says.
#
# Its descriptor 0 is a socket that listens: the runner made it, or a zygote's child did before it became the agent, and only the runner and its
# service can reach it, by a path that no box sees. Each connection is one command, one port, or the data of a command.
#
# As the first process it cannot be killed from inside, and what it starts has no more rights than it has: no capability, no new privileges,
# the filter of system calls. What runs inside may not look into it either (it is not dumpable). Still nobody trusts it: the runner takes what
# it says as coming from the work itself.
#
# Arguments: the numbers of setsid, prctl and splice (0 where they are not known), the marker, and of a zygote the path of its socket.
#
# Bounds (I10): output is read only when what was read before is with the runner, and input only comes as far as the window of frames lets
# it; so a connection takes some hundred KiB at most. One process does all of it, waiting in select.

use strict;
# The last one for a zygote only.
my ($SETSID, $PRCTL, $SPLICE, $MARKER, $ZYGOTE) = @ARGV;
# What the list of processes shows, inside and to a following runner.
$0 = $MARKER;

# Frames to us: 0 input, 1 end of input, 2 signal, 3 size of the terminal, 4 kill all.
# From us: 16 stdout, 17 stderr, 18 room for input, 19 end, 20 started, 21 end of output.
# A frame of READ bytes fills one read of the runner with its head.
my ($READ, $MAX_FRAME, $MAX_ORDER) = (65531, 65536, 8 << 20);
# Data connections that wait for their command: its own connection is the older one, so they are few.
my $EARLY = 16;
# Input that comes in frames of so many bytes is a stream.
my $STREAM = 32768;
my ($EAGAIN, $EINTR, $EINPROGRESS) = (11, 4, 115);

my (%when_readable, %when_writable);    # descriptor => what to do
my ($readers, $writers) = ('', '');     # the same as vectors for select
my %commands;                           # pid => connection
my %connections;                        # connection => itself
my @unheard;                            # outputs whose command has ended, but not all that hold them
my (%awaited, @early, @over);           # name of its data => the command's connection; data connections not awaited yet; names whose command is over
my $child_ended = 0;
our $BOX;                               # what a zygote's child keeps open until the box is gone

# A zygote comes out of this in each of its boxes, and only there.
serve() if defined &serve;
# Dies with the runner's side of the box, and cannot be looked into.
syscall($PRCTL, 1, 9, 0, 0, 0), syscall($PRCTL, 4, 0, 0, 0, 0) if $PRCTL;
# What the isolation left open; the socket is 0.
for my $number (3 .. 31) {
    my $left;
    next if $BOX && $number == fileno $BOX;
    close $left if open $left, '<&=', $number;
}
fcntl(STDIN, 4, 2048);
umask 022;
$SIG{PIPE} = 'IGNORE';
$SIG{CHLD} = sub { $child_ended = 1 };
# A runner that ended before it could take this one along does not read any more.
syswrite(STDOUT, "ready\n") or exit;
open(STDOUT, '>', '/dev/null');
open(STDERR, '>&', \*STDOUT);

on_readable(\*STDIN, \&take_connection);
while (1) {
    # A signal that comes just before select would be slept over without the limit.
    my $found = select(my $readable = $readers, my $writable = $writers, undef, %commands ? 2 : undef);
    reap() if $child_ended || %commands;
    next if $found <= 0;
    for my $number (keys %when_readable) {
        my $act = $when_readable{$number};
        $act->() if $act && vec($readable, $number, 1);
    }
    for my $number (keys %when_writable) {
        my $act = $when_writable{$number};
        $act->() if $act && vec($writable, $number, 1);
    }
}

sub on_readable {
    my ($handle, $act) = @_;
    my $number = fileno $handle;
    vec($readers, $number, 1) = $act ? 1 : 0;
    if ($act) { $when_readable{$number} = $act } else { delete $when_readable{$number} }
}

sub on_writable {
    my ($handle, $act) = @_;
    my $number = fileno $handle;
    vec($writers, $number, 1) = $act ? 1 : 0;
    if ($act) { $when_writable{$number} = $act } else { delete $when_writable{$number} }
}

sub shut {
    my ($handle) = @_;
    return unless $handle && defined fileno $handle;
    on_readable($handle);
    on_writable($handle);
    close $handle;
}

sub again { return $! == $EAGAIN || $! == $EINTR }

# Compiles the rest of the program when something of it is wanted.
our $AUTOLOAD;
sub AUTOLOAD {
    my $wanted = \&$AUTOLOAD;
    eval $RARE; ## no critic (ProhibitStringyEval)
    die $@ if $@ || !defined &$wanted;
    goto &$wanted;
}

# ---- Connections with the runner

sub take_connection {
    while (accept(my $socket, STDIN)) {
        fcntl($socket, 4, 2048);
        # in: what came and is not understood yet. out: what goes, from the byte {sent} on.
        my $c = { socket => $socket, in => '', out => '', sent => 0, input => [] };
        $connections{$c} = $c;
        on_readable($socket, sub { from_runner($c) });
        from_runner($c);
    }
}

sub from_runner {
    my ($c) = @_;
    return if $c->{streams} && $c->{in} eq '' && !@{ $c->{input} } && pass_on($c);
    my $got = sysread $c->{socket}, $c->{in}, 2 * $MAX_FRAME, length $c->{in};
    # Where nothing came, what {in} holds already may still be whole.
    return gone($c) if defined $got ? !$got : !again();
    my $at = 0;
    my $whole = length $c->{in};
    if (!$c->{ordered}) {
        return if $whole < 4;
        my $length = unpack 'N', $c->{in};
        return gone($c) if $length > $MAX_ORDER;
        return if $whole < 4 + $length;
        $c->{ordered} = 1;
        $at = 4 + $length;
        begin($c, unpack '(N/a*)*', substr $c->{in}, 4, $length);
    }
    while ($whole - $at >= 5) {
        my ($type, $length) = unpack 'CN', substr $c->{in}, $at, 5;
        return gone($c) if $length > $MAX_FRAME;
        last if $whole - $at < 5 + $length;
        frame($c, $type, substr $c->{in}, $at + 5, $length);
        return if $c->{over};
        $at += 5 + $length;
    }
    substr($c->{in}, 0, $at) = '' if $at;
}

# The runner went: nobody wants the command any more.
sub gone {
    my ($c) = @_;
    kill_all($c) if $c->{pid};
    leave($c);
}

sub leave {
    my ($c) = @_;
    $c->{over} = 1;
    drop_data($c) if $c->{apart};
    shut($_) for delete @$c{qw(socket stdin stdout stderr status connecting)};
    delete $connections{$c};
}

sub frame {
    my ($c, $type, $data) = @_;
    # Who closes with words unread takes those with it that the other has not read yet: the runner closes.
    return if $c->{ended};
    if ($type == 0) {
        $c->{streams} = $SPLICE && !$c->{port} && !$c->{terminal} if length $data >= $STREAM;
        push @{ $c->{input} }, $data;
        feed($c);
    }
    elsif ($type == 1) { $c->{input_ended} = 1; feed($c) }
    elsif ($type == 2) { kill substr($data, 3), tree($c) if $c->{pid} }
    elsif ($type == 3) { resize($c, unpack 'nn', $data) if $c->{terminal} && $c->{stdin} }
    elsif ($type == 4) {
        kill_all($c) if $c->{pid};
        abandon_output($c) if $c->{apart};
    }
}

sub say_frame {
    my ($c, $type, $data) = @_;
    return if $c->{over};
    $c->{out} .= pack('CN', $type, length $data) . $data;
    flush_out($c);
}

# True when all is with the runner; outputs are not read before.
sub flush_out {
    my ($c) = @_;
    while ($c->{sent} < length $c->{out}) {
        my $put = syswrite $c->{socket}, $c->{out}, length($c->{out}) - $c->{sent}, $c->{sent};
        if (!defined $put) {
            if (!again()) { gone($c); return 0 }
            if (!$c->{waits}) {
                $c->{waits} = 1;
                for (@$c{qw(stdout stderr)}) { on_readable($_) if $_ }
                on_writable($c->{socket}, sub { flush_out($c) });
            }
            return 0;
        }
        $c->{sent} += $put;
    }
    $c->{out} = '';
    $c->{sent} = 0;
    if ($c->{waits}) {
        $c->{waits} = 0;
        on_writable($c->{socket});
        listen_to($c);
    }
    return 1;
}

# ---- Output and input

sub listen_to {
    my ($c) = @_;
    for my $name ('stdout', 'stderr') {
        on_readable($c->{$name}, sub { from_work($c, $name) }) if $c->{$name};
    }
    # Of a command that has ended only what was there then.
    drain($c) if $c->{drains};
}

sub from_work {
    my ($c, $name) = @_;
    return move_out($c) if $c->{apart} && $name eq 'stdout';
    my $want = $READ;
    $want = $c->{left}{$name} if $c->{left} && $c->{left}{$name} < $want;
    # Behind the head of its frame, to be copied once. Nothing else waits to be sent.
    my $got = sysread $c->{$name}, $c->{out}, $want, 5;
    if (!$got) {
        my $wait = !defined $got && again();
        $c->{out} = '';
        return 1 if $wait && $! == $EINTR;
        return 0 if $wait && !$c->{left};
        # A background process may hold it for longer than anybody listens.
        if ($wait && !$c->{terminal}) { disregard($c, $name) } else { end_output($c, $name) }
        return 1;
    }
    substr($c->{out}, 0, 5) = pack 'CN', $name eq 'stdout' ? 16 : 17, $got;
    # One that fills it gets a larger pipe.
    fcntl($c->{$name}, 1031, 262144) if $got == $READ && !$c->{large}{$name}++;
    $c->{left}{$name} -= $got if $c->{left};
    flush_out($c);
    return 1;
}

sub end_output {
    my ($c, $name) = @_;
    my $handle = delete $c->{$name};
    # Input may still go the other way.
    if ($c->{stdin} && !$c->{drains} && ($c->{port} || $c->{terminal})) { on_readable($handle) } else { shut($handle) }
    return if !$c->{port};
    say_frame($c, 21, '');
    end_port($c);
}

sub feed {
    my ($c) = @_;
    return if $c->{connecting};
    my $queue = $c->{input};
    my $taken = 0;
    while (@$queue) {
        my $length = length $queue->[0];
        # One that does not read any more.
        my $put = $c->{stdin} ? syswrite $c->{stdin}, $queue->[0] : $length;
        if (!defined $put) {
            if (again()) {
                fcntl($c->{stdin}, 1031, 262144) if !$c->{large}{stdin}++;
                on_writable($c->{stdin}, sub { feed($c) }) if !$c->{full};
                $c->{full} = 1;
                last;
            }
            end_input($c);
            next;
        }
        $taken += $put;
        if ($put == $length) { shift @$queue } else { substr($queue->[0], 0, $put) = '' }
    }
    if (!@$queue) {
        on_writable($c->{stdin}) if $c->{full} && $c->{stdin};
        $c->{full} = 0;
        end_input($c) if $c->{input_ended} && !$c->{brought};
    }
    say_frame($c, 18, pack 'N', $taken) if $taken;
}

sub end_input {
    my ($c) = @_;
    take_no_more($c) if $c->{data} && $c->{brought};
    my $handle = delete $c->{stdin} or return;
    on_writable($handle) if $c->{full};
    if ($c->{port}) {
        shutdown $handle, 1;
        end_port($c);
    }
    elsif ($c->{terminal}) {
        # It hangs up.
        shut(delete $c->{stdout});
    }
    else { shut($handle) }
}

# ---- Commands

sub begin {
    my ($c, $kind, @order) = @_;
    if ($kind eq 'port') { connect_port($c, @order) }
    elsif ($kind eq 'data') { take_data($c, @order) }
    else { start($c, @order) }
}

sub start {
    my ($c, $directory, $columns, $rows, $data, $count, @words) = @_;
    my @env = splice @words, $count;
    my %inside;
    if ($columns) {
        my $slave = open_terminal($c, $columns, $rows) or return not_executed($c, 'F');
        %inside = (0 => $slave, 1 => $slave, 2 => $slave);
    }
    else {
        pipe($inside{0}, $c->{stdin}) && pipe($c->{stdout}, $inside{1}) && pipe($c->{stderr}, $inside{2})
            or return not_executed($c, 'F');
    }
    pipe($c->{status}, my $tell) or return not_executed($c, 'F');
    fcntl($_, 4, 2048) for grep { $_ } @$c{qw(stdin stdout stderr status)};
    my $pid = fork;
    return not_executed($c, 'F') if !defined $pid;
    become($tell, \%inside, $c->{terminal}, $directory, \@env, @words) if !$pid;
    $c->{pid} = $pid;
    $commands{$pid} = $c;
    # Told once the program is executed, or could not be.
    on_readable($c->{status}, sub { started($c) });
    await_data($c, $data) if $data ne '';
    listen_to($c);
    # Readable when it has ended: no signal is slept over. On kernels from 5.3 on.
    my $number = syscall(434, $pid, 0);
    if ($number > 0 && open my $process, '<&=', $number) {
        $c->{process} = $process;
        on_readable($process, sub { reap() });
    }
}

# The child. Nothing of other connections is left in it when others may look.
sub become {
    my ($tell, $inside, $terminal, $directory, $env, @words) = @_;
    my $fail = sub { syswrite $tell, $_[0] . chr($! & 255); kill 'KILL', $$ };
    for my $c (values %connections) { close $_ for grep { $_ } @$c{qw(socket stdin stdout stderr status process)} }
    close $_ for @unheard, grep { $_ } $BOX;
    if ($SETSID) { syscall $SETSID } else { require POSIX; POSIX::setsid() }
    ioctl $inside->{0}, 0x540E, 0 if $terminal;
    open(STDIN, '<&', $inside->{0}) && open(STDOUT, '>&', $inside->{1}) && open(STDERR, '>&', $inside->{2}) or $fail->('F');
    $SIG{$_} = 'DEFAULT' for 'PIPE', 'CHLD';
    syscall($PRCTL, 4, 1, 0, 0, 0) if $PRCTL;
    # The kernel, when it must choose, takes it before the one that holds the box, and work before the service.
    if (open my $score, '>', '/proc/self/oom_score_adj') { syswrite $score, 500 }
    chdir $directory or $fail->('D');
    %ENV = (PWD => $directory);
    for (@$env) { my ($name, $value) = split /=/, $_, 2; $ENV{$name} = $value }
    exec { $words[0] } @words or $fail->('E');
}

sub not_executed {
    my ($c, $what) = @_;
    end($c, $what . chr($! & 255));
}

sub started {
    my ($c) = @_;
    my $got = sysread $c->{status}, my $said, 2;
    return if !defined $got && again();
    shut(delete $c->{status});
    if ($got) { $c->{failed} = $said } else { say_frame($c, 20, '') }
}

sub reap {
    $child_ended = 0;
    while ((my $pid = waitpid -1, 1) > 0) {
        my $status = $?;
        my $c = delete $commands{$pid} or next;
        delete $c->{pid};
        shut(delete $c->{process});
        next if $c->{over};
        $c->{code} = $status & 127 ? 128 + ($status & 127) : $status >> 8;
        started($c) if $c->{status};
        next if $c->{over};
        @{ $c->{input} } = ();
        end_input($c) if $c->{stdin} && !$c->{terminal};
        # The command's output is what it has said until now.
        for my $name ('stdout', 'stderr') {
            next unless $c->{$name};
            my $waiting = pack 'i', 0;
            $c->{left}{$name} = $c->{terminal} ? 1 << 20
                : ioctl($c->{$name}, 0x541B, $waiting) ? unpack 'i', $waiting
                : 1 << 20;
        }
        $c->{drains} = 1;
        drain($c);
    }
}

sub drain {
    my ($c) = @_;
    for my $name ('stdout', 'stderr') {
        while ($c->{$name}) {
            return if $c->{waits} || $c->{blocked} || $c->{over};
            if ($c->{left}{$name} > 0) { from_work($c, $name) }
            # Held by one that was left behind, unless nothing more can come.
            elsif ($c->{terminal} || (sysread $c->{$name}, my $late, 1) eq '0') { end_output($c, $name) }
            else { disregard($c, $name) }
        }
    }
    return if $c->{waits} || $c->{blocked} || $c->{over};
    $c->{drains} = 0;
    end_input($c) if $c->{terminal};
    end($c, defined $c->{failed} ? $c->{failed} : 'X' . chr $c->{code});
}

sub end {
    my ($c, $what) = @_;
    $c->{ended} = 1;
    end_data($c) if $c->{apart};
    say_frame($c, 19, $what);
}
