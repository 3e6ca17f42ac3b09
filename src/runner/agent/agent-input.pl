# Input of the agent (agent.pl) that is a stream of frames: the kernel moves them into the command's pipe, and nothing is copied here.

# ---- Input that is a stream

# False when the rest is to be read: what came is then in {in}, and a frame that the pipe did not take whole has become one of what is
# left of it.
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
