# The program of a container: the first process of every container (mode hold, box-hold.pl), and the process that each exec runs (mode exec,
# box-exec.pl). It uses no module, since it is brought along (box-runtime-volume.ts) and must run in any image. What runs in the box has the same
# user as this program, and may take it over: the service reads what it says as hostile bytes, and no boundary hangs on it. It holds no
# capability, and nothing of it is outside of the container.
#
# This part has what both modes use, and begins the mode. It comes last. The module that puts the parts together declares before them $PRCTL,
# $CLOCK, $SETSID and $PRLIMIT (numbers of system calls), $ROOT and $RUNTIME (paths), $TOO_LONG (a message) and $FUNDING_GRACE (ms).

$^F = 2;
$| = 1;
sub now { my $t = "\0" x 16; syscall($CLOCK, 0, $t); my ($s, $n) = unpack('qq', $t); return $s * 1000 + int($n / 1000000) }
sub enc {
  return '-' if $_[0] eq '';
  my $left = (3 - length($_[0]) % 3) % 3;
  my $r = pack('u', $_[0]);
  $r =~ s/^.//mg; $r =~ tr/\n//d; $r =~ tr{\x60 -_}{AA-Za-z0-9+/};
  substr($r, -$left) = '=' x $left if $left;
  return $r;
}
sub put {
  my ($fh, $bytes) = @_;
  my $at = 0;
  while ($at < length $bytes) {
    my $n = syswrite($fh, $bytes, length($bytes) - $at, $at);
    if (defined $n) { $at += $n; next }
    my $e = $! + 0;
    next if $e == 4;
    if ($e == 11) { my $w = ''; vec($w, fileno($fh), 1) = 1; select(undef, $w, undef, 1); next }
    return 0;
  }
  return 1;
}
# Open files, and a core of one byte: none is written, and none is piped to the machine's handler either. Limits only ever go down.
sub bound {
  my $now = "\0" x 16;
  syscall($PRLIMIT, 0, 7, 0, $now);
  my ($soft, $hard) = unpack('QQ', $now);
  my $files = $hard < 65536 ? $hard : 65536;
  my $limit = pack('QQ', $files, $files);
  syscall($PRLIMIT, 0, 7, $limit, 0);
  my $core = pack('QQ', 1, 1);
  syscall($PRLIMIT, 0, 4, $core, 0);
}
sub nonblock { my $f = fcntl($_[0], 3, 0); fcntl($_[0], 4, $f | 2048) }
sub code { my $s = shift; return $s & 127 ? 128 + ($s & 127) : $s >> 8 }
# Parent of each process.
sub parents {
  my %of;
  opendir(my $d, '/proc') or return %of;
  for my $pid (readdir $d) {
    next unless $pid =~ /^\d+$/;
    open(my $f, '<', "/proc/$pid/stat") or next;
    my $line = <$f>;
    $of{$pid} = $1 if defined $line && $line =~ /.*\) \S+ (\d+)/s;
  }
  return %of;
}
# All below the given processes, parents before their children: a shell must hear of a signal before its child dies of it.
sub below {
  my %of = parents();
  my %in = map { $_ => 1 } @_;
  my @found;
  for (my $more = 1; $more;) {
    $more = 0;
    for my $pid (keys %of) {
      next if $in{$pid} || !$in{$of{$pid}};
      $in{$pid} = $more = 1;
      push @found, $pid;
    }
  }
  return @found;
}
# Kills all below this process and takes their ends; bounded, since one in uninterruptible sleep may delay its own.
sub kill_below {
  my $until = now() + 20000;
  while (now() < $until) {
    my @left = below($$);
    kill 'KILL', @left if @left;
    my $took = 0;
    while ((my $pid = waitpid(-1, 1)) > 0) { $took = 1 }
    return if !@left && !$took;
    select(undef, undef, undef, 0.002);
  }
}
# In a child: becomes the command, or tells why not: "c" or "x", and the number of the error.
sub become {
  my ($p, $in, $out, $err, $tell) = @_;
  $SIG{$_} = 'DEFAULT' for qw(CHLD TERM PIPE);
  open(STDIN, '<&', $in); open(STDOUT, '>&', $out); open(STDERR, '>&', $err);
  if (!chdir $p->{cwd}) { syswrite($tell, 'c' . ($! + 0)); exit_now(127) }
  my @argv = @{$p->{argv}};
  # Under what the order says, that of the image, which the daemon has given to this process.
  %ENV = (defined $ENV{PATH} ? (PATH => $ENV{PATH}) : (), @{$p->{env}});
  { no warnings; exec { $argv[0] } @argv; }
  syswrite($tell, 'x' . ($! + 0));
  exit_now(127);
}
sub exit_now { kill 'KILL', $$; exit $_[0] }
# Reason and message of what a child told.
sub why {
  my ($p, $said) = @_;
  my $e = substr($said, 1);
  my ($name, $dir) = map { length($_) > 200 ? substr($_, 0, 200) . '... (' . length($_) . ' bytes)' : $_ } ($p->{argv}[0], $p->{cwd});
  return ('WorkingDirNotFound', "cannot enter $dir") if substr($said, 0, 1) eq 'c';
  my $where = $p->{argv}[0] =~ m{/} ? '' : ' in PATH';
  my $long = $e == 36 ? ': its name of ' . length($p->{argv}[0]) . ' bytes is too long' : '';
  return ('CommandNotFound', qq($p->{name}: executable "$name" not found$where$long)) if $e == 2 || $e == 20 || $e == 36;
  return ('CommandNotExecutable', "$p->{name}: $name: $TOO_LONG") if $e == 7;
  return ('CommandNotExecutable', "$p->{name}: $name cannot be executed");
}
sub fields { return map { pack('H*', $_ eq '-' ? '' : $_) } @_ }
# <count> words..., <count> names and values...
sub words {
  my ($p, @rest) = @_;
  my $n = shift @rest;
  $p->{argv} = [fields(splice(@rest, 0, $n))];
  $n = shift @rest;
  $p->{env} = [fields(splice(@rest, 0, $n))];
  return $p;
}

bound();
if ($ARGV[0] eq 'hold') { hold() } else { client() }
