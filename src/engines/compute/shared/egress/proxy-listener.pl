# Makes the listening sockets of boxes in their network namespaces, and passes each to Node over the channel that Node has for its own children,
# in the words of that channel (NODE_HANDLE): Node can take a descriptor in no other way.
#
# Arguments: the numbers of setns and sendmsg, the port, and 1 when the loopback inside has to be brought up first.

use strict;
use Socket;
my ($SETNS, $SENDMSG, $PORT, $BRING_UP) = @ARGV;
my ($NEWNET, $NEWUSER, $GET_USERNS, $SET_FLAGS, $UP, $FREEBIND, $EPERM) =
    (0x40000000, 0x10000000, 0xb701, 0x8914, 0x49, 15, 1);
$0 = 'troupe-proxy';
open(my $channel, '+<&=', 3) or die "channel: $!";
open(my $home, '<', '/proc/self/ns/net') or die "own namespace: $!";
my $rest = '';

# The runner's end closes: so does this.
sub next_line {
    my $at;
    while (($at = index $rest, "\n") < 0) {
        sysread($channel, $rest, 4096, length $rest) or exit 0;
    }
    my $line = substr $rest, 0, $at;
    substr($rest, 0, $at + 1) = '';
    return $line;
}

sub say_line { syswrite $channel, "$_[0]\n" }

sub listener {
    socket(my $listener, AF_INET, SOCK_STREAM, 0) or die "socket: $!\n";
    if ($BRING_UP) { ioctl($listener, $SET_FLAGS, pack('a16 s x22', 'lo', $UP)) or die "loopback: $!\n" }
    # Its address may come a moment later than this.
    setsockopt($listener, 0, $FREEBIND, 1) or die "option: $!\n";
    bind($listener, sockaddr_in($PORT, INADDR_LOOPBACK)) or die "bind: $!\n";
    listen($listener, 511) or die "listen: $!\n";
    return $listener;
}

# struct msghdr with one iovec, and a descriptor as SCM_RIGHTS.
sub pass {
    my ($id, $listener) = @_;
    my $text = qq({"cmd":"NODE_HANDLE","type":"net.Native","msg":{"id":$id}}\n);
    my $control = pack 'Q l l l x4', 20, SOL_SOCKET, 1, fileno $listener;
    my $pieces = pack 'P Q', $text, length $text;
    my $message = pack 'Q L x4 P Q P Q l x4', 0, 0, $pieces, 1, $control, length $control, 0;
    syscall($SENDMSG, fileno $channel, $message, 0) == length $text or die "pass: $!\n";
}

sub enter {
    my ($namespace, $kind) = @_;
    return syscall($SETNS, fileno $namespace, $kind) == 0;
}

sub owned_listener {
    my ($there) = @_;
    my $number = ioctl($there, $GET_USERNS, 0) or die;
    open(my $owner, "<&=", $number + 0) or die;
    enter($owner, $NEWUSER) && enter($there, $NEWNET) or die;
    return listener();
}

sub make {
    my ($id, $pid) = @_;
    open(my $there, '<', "/proc/$pid/ns/net") or die "namespace: $!\n";
    my @here = stat $home;
    die "it has none of its own\n" if (stat $there)[1] == $here[1];
    if (enter($there, $NEWNET)) {
        my $listener = eval { listener() };
        my $error = $@;
        enter($home, $NEWNET) or exit 1;
        die $error unless $listener;
        return pass($id, $listener);
    }
    die "enter: $!\n" unless $! == $EPERM;
    # Whoever made the user namespace that owns it may enter that, for good.
    my $child = fork // die "fork: $!\n";
    if (!$child) {
        eval { pass($id, owned_listener($there)); 1 } or exit 1;
        exit 0;
    }
    waitpid $child, 0;
    die "its maker failed\n" if $?;
}

# Asked for while an earlier one was not taken yet.
my @asked;
while (1) {
    my ($id, $pid) = (shift(@asked) // next_line()) =~ /^\{"id":(\d+),"pid":(\d+)\}/ or next;
    if (eval { make($id, $pid); 1 }) {
        while ((my $line = next_line()) !~ /NODE_HANDLE_ACK/) { push @asked, $line }
        next;
    }
    my $error = $@;
    $error =~ s/[^\w :.()-]//g;
    say_line(qq({"id":$id,"error":"$error"}));
}
