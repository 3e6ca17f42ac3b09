# A command's data connection in the agent (agent.pl): input and standard output as plain bytes, which the kernel moves between the connection
# and the command's pipes, so that nothing is copied here.
#
# The other side closes it, at the command's end or when it has given up. Until then input for a command that takes no more is read and
# dropped, since to close with words unread takes those with it that the other has not read yet.
#
# Bounds (I10): the buffers of one socket and two pipes. Of connections that come before the command they name $EARLY wait, and so many
# names of commands are known that were over before their connection came.

# ---- A command's data on a connection of its own
# Of the command: apart: it has one. awaits: under which name. data: the connection. brought: its input comes there, and has not ended.
# blocked: its output has nowhere to go. killed: nobody waits for the rest of that.
# Of the connection: drained: all of its input was read. parted: it is no command's any more.

# The command may be on its way still: its connection is older, its words are not.
sub take_data {
    my ($d, $name) = @_;
    on_readable($d->{socket});
    if (my $c = delete $awaited{$name}) { return bring($c, $d) }
    # Its command is over already: nothing comes any more, and the other side has not to wait for it.
    if (grep { $_ eq $name } @over) {
        @over = grep { $_ ne $name } @over;
        syswrite $d->{socket}, '.';
        return part($d);
    }
    leave(shift @early) if @early >= $EARLY;
    $d->{name} = $name;
    push @early, $d;
}

# A command is here whose data goes so.
sub await_data {
    my ($c, $name) = @_;
    $c->{apart} = $c->{brought} = 1;
    my ($d) = grep { $_->{name} eq $name } @early;
    @early = grep { $_ ne $d } @early if $d;
    if ($d) { bring($c, $d) } else { $awaited{ $c->{awaits} = $name } = $c }
}

sub bring {
    my ($c, $d) = @_;
    # The first that is sent; a byte always finds room.
    syswrite $d->{socket}, '.';
    return part($d) if $c->{ended};
    $c->{data} = $d;
    if ($c->{stdin}) {
        fcntl($c->{stdin}, 1031, 262144);
        on_readable($d->{socket}, sub { move_in($c) });
    }
    else { drop_input($d) }
    unblock($c) if $c->{blocked};
}

sub move_in {
    my ($c) = @_;
    my $d = $c->{data};
    # Others want their turns.
    for (1 .. 8) {
        # 3: moved, and without waiting.
        my $put = syscall $SPLICE, fileno $d->{socket}, 0, fileno $c->{stdin}, 0, 1 << 20, 3;
        next if $put > 0;
        if ($put == 0) {
            $c->{brought} = 0;
            $d->{drained} = 1;
            on_readable($d->{socket});
            return feed($c);
        }
        # One that does not read any more.
        return end_input($c) if !again();
        # Either there is nothing, or no room for it.
        vec(my $there = '', fileno $d->{socket}, 1) = 1;
        return if select($there, undef, undef, 0) <= 0;
        on_readable($d->{socket});
        return on_writable($c->{stdin}, sub {
            on_writable($c->{stdin});
            on_readable($d->{socket}, sub { move_in($c) });
        });
    }
}

sub take_no_more {
    my ($c) = @_;
    $c->{brought} = 0;
    on_writable($c->{stdin}) if $c->{stdin};
    drop_input($c->{data});
}

sub drop_input {
    my ($d) = @_;
    on_readable($d->{socket}, sub {
        my $got = sysread($d->{socket}, my $dropped, $READ);
        return if $got || (!defined $got && again());
        $d->{drained} = 1;
        on_readable($d->{socket});
        leave($d) if $d->{parted};
    });
}

# In the place of from_work. Of a command that has ended what is {left} goes, and then no more.
sub move_out {
    my ($c) = @_;
    my ($d, $left) = ($c->{data}, $c->{left} ? $c->{left}{stdout} : 1 << 20);
    if ($d) {
        my $put = syscall $SPLICE, fileno $c->{stdout}, 0, fileno $d->{socket}, 0, $left, 3;
        if ($put > 0) {
            fcntl($c->{stdout}, 1031, 262144) if !$c->{large}{stdout}++;
            $c->{left}{stdout} -= $put if $c->{left};
            return;
        }
        return end_output($c, 'stdout') if $put == 0;
        return disregard($c, 'stdout') if !again();
        # Either there is nothing, or no room for it.
        my $waiting = pack 'i', 0;
        if (ioctl($c->{stdout}, 0x541B, $waiting) && !unpack 'i', $waiting) {
            disregard($c, 'stdout') if $c->{left};
            return;
        }
    }
    return disregard($c, 'stdout') if $c->{killed};
    $c->{blocked} = 1;
    on_readable($c->{stdout});
    on_writable($d->{socket}, sub { unblock($c) }) if $d;
}

sub unblock {
    my ($c) = @_;
    on_writable($c->{data}{socket}) if $c->{data};
    $c->{blocked} = 0;
    listen_to($c);
}

# What finds room still goes.
sub abandon_output {
    my ($c) = @_;
    $c->{killed} = 1;
    unblock($c) if $c->{blocked};
}

# All that was to go there is in the other's hands by the time the end is told.
sub end_data {
    my ($c) = @_;
    my $d = delete $c->{data} or return;
    part($d);
}

sub part {
    my ($d) = @_;
    shutdown $d->{socket}, 1;
    return leave($d) if $d->{drained};
    $d->{parted} = 1;
    drop_input($d);
}

# Together with the command's own connection.
sub drop_data {
    my ($c) = @_;
    if ($c->{awaits} && delete $awaited{ $c->{awaits} }) {
        shift @over if @over >= $EARLY;
        push @over, $c->{awaits};
    }
    my $d = delete $c->{data} or return;
    leave($d);
}
