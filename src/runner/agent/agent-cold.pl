# The parts of the agent (agent.pl) that most boxes never need: terminals, killing, what a command leaves behind, and ports; and after these
# agent-input.pl and agent-data.pl. The agent compiles all of it when the first of them is called.

# ---- Terminals

sub open_terminal {
    my ($c, $columns, $rows) = @_;
    my ($number, $unlock) = (pack('i', 0)) x 2;
    my ($master, $slave);
    sysopen($master, '/dev/ptmx', 2 | 256)
        && ioctl($master, 0x40045431, $unlock)
        && ioctl($master, 0x80045430, $number)
        && sysopen($slave, '/dev/pts/' . unpack('i', $number), 2 | 256)
        or return;
    $c->{terminal} = 1;
    $c->{stdin} = $c->{stdout} = $master;
    resize($c, $columns, $rows);
    return $slave;
}

sub resize {
    my ($c, $columns, $rows) = @_;
    ioctl $c->{stdin}, 0x5414, pack 'S4', $rows, $columns, 0, 0;
}

# ---- Killing

# All that the command has started and that can be told: its descendants, and who shares a session or group with one of them.
# Parents come before their children: a shell must hear of a signal before its child dies of it.
sub tree {
    my ($c) = @_;
    my %in = ($c->{pid} => 1);
    my @tree = $c->{pid};
    my (%below, @processes);
    opendir my $proc, '/proc' or return @tree;
    for my $pid (sort { $a <=> $b } grep { /^[0-9]+$/ && $_ > 1 && $_ != $$ } readdir $proc) {
        open my $stat, '<', "/proc/$pid/stat" or next;
        sysread $stat, my $line, 512;
        # The name before it may hold anything.
        next unless $line =~ /.*\) (\S) (\d+) (\d+) (\d+) /s && $1 ne 'Z';
        push @processes, [$pid, $3, $4];
        push @{ $below{$2} }, $pid;
    }
    for (my $i = 0; $i < @tree;) {
        for (; $i < @tree; $i++) { push @tree, grep { !$in{$_}++ } @{ $below{ $tree[$i] } || [] } }
        for (@processes) {
            my ($pid, @ties) = @$_;
            next if $in{$pid} || !grep { $in{$_} } @ties;
            $in{$pid} = 1;
            push @tree, $pid;
        }
    }
    return @tree;
}

# First stopped, so that none starts another meanwhile.
sub kill_all {
    my ($c) = @_;
    my %stopped;
    for (1 .. 100) {
        my @more = grep { !$stopped{$_} } tree($c) or last;
        kill 'STOP', @more;
        @stopped{@more} = (1) x @more;
    }
    kill 'KILL', keys %stopped;
}

# ---- What is left behind

# Read on, so that what was left behind is not killed by its own output.
sub disregard {
    my ($c, $name) = @_;
    my $handle = delete $c->{$name};
    shut(shift @unheard) if @unheard >= 128;
    push @unheard, $handle;
    on_readable($handle, sub {
        my $got = sysread($handle, my $data, $READ);
        return if $got || (!defined $got && again());
        @unheard = grep { $_ != $handle } @unheard;
        shut($handle);
    });
}

# ---- Ports

sub connect_port {
    my ($c, $port) = @_;
    socket(my $inside, 2, 1, 6) or return not_executed($c, 'F');
    fcntl($inside, 4, 2048);
    my $done = connect $inside, pack 'S n C4 x8', 2, $port, 127, 0, 0, 1;
    return not_executed($c, 'C') if !$done && $! != $EINPROGRESS;
    $c->{port} = 1;
    my $ready = sub {
        on_writable($inside);
        delete $c->{connecting};
        my $error = unpack 'i', getsockopt $inside, 1, 4;
        if ($error) { $! = $error; close $inside; return not_executed($c, 'C') }
        $c->{stdin} = $c->{stdout} = $inside;
        say_frame($c, 20, '');
        listen_to($c);
        feed($c);
    };
    if ($done) { $ready->() } else { $c->{connecting} = $inside; on_writable($inside, $ready) }
}

# Over once both directions are.
sub end_port {
    my ($c) = @_;
    end($c, "X\0") if !$c->{stdin} && !$c->{stdout} && !$c->{ended} && !$c->{over};
}
