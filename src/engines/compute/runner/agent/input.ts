/**
 * Owns how the program that holds a box (`source.ts`) hands on input that is a stream: in frames, and as the plain bytes of a connection of
 * its own (InputPlace in `../protocol/messages.ts`). The kernel moves them into the command's pipe, and nothing is copied here.
 *
 * Bounds (I10): the buffers of one socket and one pipe. Of connections that come before the command they name EARLY wait.
 */
/** A command's connection is the older one, so those that wait for theirs are few. */
export const EARLY = 16;

export const LONG_INPUT = String.raw`
# ---- Input that is a stream, in frames

# Lets the kernel hand frames of input to the command's pipe, which copies nothing. False when the rest is to be read: what came is then in
# {in}, and a frame that the pipe did not take whole has become one of what is left of it.
sub pass_on {
    my ($c) = @_;
    my ($taken, $more) = (0, 1);
    # Others want their turns.
    for (1 .. 8) {
        my $got = $c->{stdin} ? sysread $c->{socket}, $c->{in}, 5 : 0;
        # Its end, if that is what it was, is read once more.
        $more = 0, last if !$got || $got < 5;
        my ($type, $left) = unpack 'CN', $c->{in};
        $more = 0, last if $type || !$left || $left > $MAX_FRAME;
        while ($left) {
            # 3: moved, and without waiting.
            my $put = syscall $SPLICE, fileno $c->{socket}, 0, fileno $c->{stdin}, 0, $left, 3;
            last if $put <= 0;
            $left -= $put;
            $taken += $put;
        }
        $c->{in} = $left ? pack 'CN', 0, $left : '';
        $more = 0, last if $left;
    }
    say_frame($c, 18, pack 'N', $taken) if $taken;
    return $more || $c->{over};
}

# ---- Input on a connection of its own

# The command may be on its way still: its connection is older, its words are not.
sub take_input {
    my ($d, $name) = @_;
    on_readable($d->{socket});
    if (my $c = delete $awaited{$name}) { return bring($c, $d) }
    leave(shift @early) if @early >= ${EARLY};
    $d->{name} = $name;
    push @early, $d;
}

# A command is here whose input comes so.
sub await_input {
    my ($c, $name) = @_;
    my ($d) = grep { $_->{name} eq $name } @early;
    @early = grep { $_ ne $d } @early if $d;
    if ($d) { bring($c, $d) } else { $awaited{ $c->{awaits} = $name } = $c }
}

sub bring {
    my ($c, $d) = @_;
    # Until then nothing is sent; a byte always finds room.
    syswrite $d->{socket}, '.';
    # Taken all the same: that its end is near is for its own connection to tell.
    return leave($d) if !$c->{stdin};
    $c->{bringer} = $d;
    fcntl($c->{stdin}, 1031, 262144);
    on_readable($d->{socket}, sub { move($c) });
}

sub move {
    my ($c) = @_;
    my $d = $c->{bringer};
    # Others want their turns.
    for (1 .. 8) {
        # 3: moved, and without waiting.
        my $put = syscall $SPLICE, fileno $d->{socket}, 0, fileno $c->{stdin}, 0, 1 << 20, 3;
        next if $put > 0;
        if ($put == 0) {
            drop_bringer($c);
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
            on_readable($d->{socket}, sub { move($c) });
        });
    }
}

# Together with the command's own end, or before.
sub drop_bringer {
    my ($c) = @_;
    delete $awaited{ delete $c->{awaits} } if $c->{awaits};
    my $d = delete $c->{bringer} or return;
    on_writable($c->{stdin}) if $c->{stdin};
    leave($d);
}
`;
