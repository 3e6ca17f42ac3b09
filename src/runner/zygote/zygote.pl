# The zygote: one small process that has the agent's program (../agent/agent.pl) compiled and makes each box as a child of its own, which
# becomes the agent there. So a box costs neither the start of a program nor that of an interpreter: 3 ms of processor instead of 11 with
# bubblewrap.
#
# The zygote is root in the runner's mount namespace; it reads no order. Each connection is one box: the child that it begins, in new namespaces
# from the start, reads what the box is to be (steps.ts), so nothing of one order ever lies in the memory that another box begins with. The
# child makes the mounts, leaves the machine's root, becomes the box's user in a user namespace of its own, which owns none of the box's other
# namespaces, gives up every capability, takes the filter of system calls and only then goes on as the agent. Each step that fails ends it, with
# the reason on the connection; what is not known to have worked is not taken as done.
#
# The connection stays open in the agent, which says nothing more on it: when it closes, the box is gone. Killing is by the zygote, which alone
# knows that a number still means that child. It ends with the runner, and every box with it.
#
# It is part of the agent's program and uses its variables. %CALL has the numbers of system calls, $FILTER the filter for the kernel.

# Numbers as numbers: a text would go as its address.
sub call {
    my ($name, @words) = @_;
    my $got = syscall $CALL{$name}, @words;
    die "$name: $!\n" if $got < 0;
    return $got;
}

# ---- The zygote itself. Returns in each of its boxes, and only there.

sub serve {
    $0 = "$MARKER-zygote";
    call('prctl', 1, 9, 0, 0, 0);
    # What is rarely needed is compiled once, for all.
    eval $RARE; ## no critic (ProhibitStringyEval)
    die $@ if $@;
    $RARE = '';
    my $listener = listen_at($ZYGOTE);
    local $SIG{CHLD} = sub { };
    local $SIG{PIPE} = 'IGNORE';
    syswrite STDOUT, "ready\n";
    my %living;
    my $asked = '';
    my $wanted = '';
    vec($wanted, fileno($_), 1) = 1 for $listener, \*STDIN;
    while (1) {
        while ((my $pid = waitpid -1, 1) > 0) { delete $living{$pid} }
        # A child that ends just before this is slept over no longer than that.
        next if select(my $readable = $wanted, undef, undef, %living ? 1 : undef) <= 0;
        if (vec $readable, fileno STDIN, 1) {
            # The runner went.
            sysread STDIN, $asked, 65536, length $asked or exit;
            while ($asked =~ s/^(\d+)\n//) { kill 'KILL', $1 if $living{$1} }
        }
        next if !vec($readable, fileno $listener, 1) || !accept(my $runner, $listener);
        # New namespaces for mounts, process ids, network, IPC and host name; SIGCHLD.
        my $pid = syscall $CALL{clone}, 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 17, 0, 0, 0, 0;
        if ($pid == 0) {
            close $listener;
            become_box($runner);
            return;
        }
        $living{$pid} = 1 if $pid > 0;
        syswrite $runner, $pid > 0 ? "box $pid\n" : "failed clone: $!\n";
    }
}

sub listen_at {
    my ($path) = @_;
    socket my $listener, 1, 1, 0 or die "socket: $!\n";
    bind $listener, pack('S a*', 1, "$path\0") or die "$path: $!\n";
    listen $listener, 511 or die "$path: $!\n";
    return $listener;
}

# ---- The child

sub become_box {
    my ($runner) = @_;
    $0 = $MARKER;
    return if eval { make_box($runner); 1 };
    syswrite $runner, "failed $@";
    exit 1;
}

sub make_box {
    my ($runner) = @_;
    # Until it becomes another user; the agent asks for it again.
    call('prctl', 1, 9, 0, 0, 0);
    call('setsid');
    umask 022;
    my ($socket, $root, $user, $name, $processes, $data, $count, @steps) = unpack '(N/a*)*', take_whole($runner);
    my $agent = listen_at($socket);
    open(STDIN, '<&', $agent) && open(STDOUT, '>&', $runner) && open(STDERR, '>&', \*STDOUT) or die "descriptors: $!\n";
    for my $group (splice @steps, 0, $count) {
        write_to($group, '0');
    }
    call('setrlimit', 6, pack('QQ', $processes, $processes)) if $processes ne '';
    call('setrlimit', 2, pack('QQ', $data, $data)) if $data ne '';
    make_files($root, $user, map { [unpack '(N/a*)*', $_] } @steps);
    call('sethostname', $name, length $name);
    socket my $any, 2, 2, 0 or die "loopback: $!\n";
    my $up = pack 'a16 s x22', 'lo', 0x41;
    ioctl $any, 0x8914, $up or die "loopback: $!\n";
    close $any;
    become_user($user) if $user ne '';
    give_up();
    # Kept until the end: that it closes says that the box is gone.
    $BOX = $runner;
}

sub take_whole {
    my ($runner) = @_;
    my $whole = '';
    while (length $whole < 4 || length $whole < 4 + unpack 'N', $whole) {
        my $got = sysread $runner, $whole, 65536, length $whole;
        next if !defined $got && $! == $EINTR;
        # Who asked for it went.
        exit 1 if !$got;
    }
    return substr $whole, 4;
}

sub make_files {
    my ($root, $user, @steps) = @_;
    call('mount', 'none', '/', 0, 1 << 14 | 1 << 18, 0);
    # As the machine has them; after that only the box is followed.
    my %tree;
    $tree{$_} = open_tree($_->[1], $_->[3], 0x8000) for grep { $_->[0] eq 'bind' } @steps;
    if ($root eq '') {
        $root = '/tmp';
        call('mount', 'root', $root, 'tmpfs', 6, 'mode=0755,size=4m');
    }
    else { put(open_tree($root, 6, 0), $root) }
    # The old root is put on the new one, and taken away from there.
    chdir $root or die "its root: $!\n";
    call('pivot_root', '.', '.');
    call('umount2', '.', 2);
    chdir '/' or die "its root: $!\n";
    my %make = (
        bind => sub {
            my ($tree, $target) = @_;
            if (!-e $target) {
                if (-d $tree) { make_directory($target, $user) }
                else {
                    make_directory($target =~ s{/[^/]*\z}{}r, $user);
                    open my $file, '>', $target or die "$!\n";
                }
            }
            put($tree, $target);
        },
        mount => sub { call('mount', $_[0], $_[1], $_[0], $_[2] + 0, $_[3]) },
        seal => sub { set_attributes(-100, $_[0], $_[1], 0) },
        dir => sub { make_directory($_[0], $user) },
        link => sub { symlink $_[1], $_[0] or die "$!\n" },
        file => sub {
            my ($path, $bytes) = @_;
            sysopen my $file, $path, 0301, 0400 or die "$!\n";
            defined syswrite($file, $bytes) or die "$!\n" if length $bytes;
            chown $user, $user, $file or die "$!\n" if $user ne '';
        },
    );
    for my $step (@steps) {
        my ($what, @words) = @$step;
        my $target = $words[$what eq 'bind' || $what eq 'mount' ? 1 : 0];
        $words[0] = $tree{$step} if $what eq 'bind';
        eval { $make{$what}->(@words); 1 } or die "$target: $@";
    }
}

# Taken out of the machine's tree, with what is to hold for all of it.
sub open_tree {
    my ($path, $attributes, $recursive) = @_;
    my $number = eval { call('open_tree', -100, $path, 1 | 0x80000 | $recursive) };
    die "$path: $@" if !defined $number;
    open my $tree, '<&=', $number or die "$path: $!\n";
    set_attributes($number, '', $attributes, 0x1000 | $recursive);
    return $tree;
}

sub set_attributes {
    my ($number, $path, $attributes, $how) = @_;
    call('mount_setattr', $number, $path, $how, pack('QQQQ', $attributes, 0, 0, 0), 32);
}

sub put {
    my ($tree, $target) = @_;
    call('move_mount', fileno $tree, '', -100, $target, 4);
    close $tree;
}

sub make_directory {
    my ($path, $user) = @_;
    my $at = '';
    for my $name (grep { length } split m{/}, $path) {
        $at .= "/$name";
        next if -d $at;
        mkdir $at, 0755 or die "$!\n";
        chown $user, $user, $at or die "$!\n" if $user ne '';
    }
}

sub become_user {
    my ($user) = @_;
    $user += 0;
    call('setgroups', 0, 0);
    call('setresgid', $user, $user, $user);
    call('setresuid', $user, $user, $user);
    # Its own files in /proc are its own again.
    call('prctl', 4, 1, 0, 0, 0);
    # A user namespace, and one for control groups.
    call('unshare', 0x10000000 | 0x02000000);
    for ([setgroups => 'deny'], [uid_map => "0 $user 1"], [gid_map => "0 $user 1"]) {
        my ($file, $text) = @$_;
        write_to("/proc/self/$file", $text);
    }
    # None below this one.
    write_to('/proc/sys/user/max_user_namespaces', '0');
}

sub write_to {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!\n";
    defined syswrite $file, $text or die "$path: $!\n";
}

sub give_up {
    # Ambient, bounding, then all that it has: nothing that it executes gets any back.
    call('prctl', 47, 4, 0, 0, 0);
    for my $capability (0 .. 63) {
        my $has = syscall $CALL{prctl}, 23, $capability, 0, 0, 0;
        # The kernel knows no more.
        last if $has < 0;
        call('prctl', 24, $capability, 0, 0, 0) if $has;
    }
    call('capset', pack('L i', 0x20080522, 0), "\0" x 24);
    call('prctl', 38, 1, 0, 0, 0);
    call('prctl', 22, 2, pack 'S x6 P', length($FILTER) / 8, $FILTER);
}
