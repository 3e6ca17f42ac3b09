# Mode hold: it takes one order on its input, runs init, sidecars and main, and says what happens on its output, which Docker keeps: so an
# order's environment and secrets are in no `docker inspect` (I11), and a service that comes back reads what it missed.
#
# Its output, one record per line (base64 as `-` when empty):
#   S <n> <ms> taken | running | failed <reason> <code or -> <message> | exited <code> <reason or -> <1 when short of memory>
#   L <name> <o|e> <ms> <bytes before> <newlines before> <bytes>     what a process printed
#   P <n> <id> <started> <ended or 0> <code> <timed out> <command>,…  a detached process
#   O <name> <file|dir|empty|fifo|none|system|holds> <size> <path>    an output, before `exited`
#   M <n>                                                             so many bytes of L records were printed
#   A <request> <answer> [<message>]                                  answer to an order that asked for one
# Its input, one order per line, each with the lease epoch that gives it: one of a lower epoch than was seen is refused.

my ($seq, $epoch, $in, $phase) = (0, 0, '', 'wait');
my (%reads, %proc, %stream, %detached, @order_ids);
my ($init, $main, @sidecars, @secrets, @outputs, @inputs, $workdir);
my $home = '/root';
my ($secret_dev, $main_pid, $main_code, $reason, $kill_at, $started_at, $side_until, $said, $doomed, $funded_until) = (-1, 0, undef, '-', 0, 0, 0, 0, 0, 0);
my ($wake_r, $wake_w);
# Bytes of records, and how many of them a service says it has read; while one does, it is not left behind by more than the daemon keeps.
my ($sent, $read, $read_at) = (0, 0, 0);

sub state_is { $seq++; put(*STDOUT, "S $seq " . now() . " @_\n") }
sub told { put(*STDOUT, 'A ' . join(' ', @_) . "\n") }
sub told_process {
  my $d = shift;
  my $words = join(',', map { enc($_) } @{$d->{argv}});
  put(*STDOUT, "P $seq $d->{id} $d->{started} $d->{ended} $d->{code} $d->{late} " . substr($words, 0, 12000) . "\n");
}
# What Docker rotates away is said again now and then.
sub again {
  return unless $phase eq 'main';
  put(*STDOUT, "S $seq $started_at running\n");
  told_process($detached{$_}) for @order_ids;
}
sub spawn {
  my ($p, $kept) = @_;
  my ($or, $ow, $er, $ew, $tr, $tw, $ir, $iw);
  unless (pipe($or, $ow) && pipe($er, $ew) && pipe($tr, $tw)) { return ('SandboxFailed', "pipe: $!") }
  if ($kept) { pipe($ir, $iw) or return ('SandboxFailed', "pipe: $!"); }
  else { open($ir, '<', '/dev/null') or return ('SandboxFailed', "/dev/null: $!"); }
  my $pid = fork;
  return ('SandboxFailed', "fork: $!") unless defined $pid;
  if (!$pid) {
    if ($kept) {
      # Between this program and the command, so that what the command leaves behind can be told.
      syscall($PRCTL, 36, 1, 0, 0, 0);
      $SIG{CHLD} = 'DEFAULT';
      $SIG{TERM} = 'IGNORE';
      my $inner = fork;
      exit_now(1) unless defined $inner;
      if (!$inner) { syscall($SETSID); become($p, $ir, $ow, $ew, $tw) }
      close $_ for ($ir, $iw, $or, $ow, $er, $ew, $tr, $tw, $wake_r, $wake_w, *STDIN, *STDOUT, *STDERR);
      my $status;
      while ((my $got = waitpid(-1, 0)) > 0) { if ($got == $inner) { $status = $?; last } }
      # As it ended, for whoever waits for this one.
      if ($status & 127) { $SIG{TERM} = 'DEFAULT'; kill $status & 127, $$; sleep 1; }
      exit(code($status));
    }
    syscall($SETSID);
    become($p, $ir, $ow, $ew, $tw);
  }
  close $_ for ($ow, $ew, $tw, $ir);
  my $told = '';
  sysread($tr, $told, 64);
  if ($told ne '') { waitpid($pid, 0); return why($p, $told) }
  $p->{pid} = $pid;
  if ($kept) { nonblock($iw); $p->{in} = $iw; $p->{wait} = ''; $p->{close} = 0 }
  $proc{$pid} = $p;
  $stream{$p->{name}} ||= { bytes => 0, lines => 0 };
  for ([$or, 'o'], [$er, 'e']) { nonblock($_->[0]); $reads{fileno $_->[0]} = { fh => $_->[0], name => $p->{name}, which => $_->[1] } }
  return ();
}
sub read_log {
  my ($r) = @_;
  my $n = sysread($r->{fh}, my $bytes, 65536);
  if (!defined $n) { my $e = $! + 0; return $e == 11 || $e == 4 ? 0 : drop_log($r) }
  return drop_log($r) if $n == 0;
  my $s = $stream{$r->{name}};
  my $time = now();
  my $out = '';
  for (my $at = 0; $at < $n; $at += 9000) {
    my $piece = substr($bytes, $at, 9000);
    $out .= "L $r->{name} $r->{which} $time $s->{bytes} $s->{lines} " . enc($piece) . "\n";
    $s->{bytes} += length $piece;
    $s->{lines} += ($piece =~ tr/\n//);
  }
  put(*STDOUT, $out);
  my $before = $sent;
  $sent += length $out;
  put(*STDOUT, "M $sent\n") if int($before / 131072) != int($sent / 131072);
  $said += length $out;
  if ($said > 1048576) { $said = 0; again() }
  return 1;
}
sub drop_log { delete $reads{fileno $_[0]{fh}}; close $_[0]{fh}; return 0 }
# Reads until nothing more comes; nobody writes any more.
sub drain { for my $r (values %reads) { 1 while read_log($r) } }
# All that one process has said before it ended: no more than a pipe holds, whatever those that it left behind go on saying.
sub drain_of {
  my $name = shift;
  for my $r (map { $reads{$_} } sort { $a <=> $b } grep { $reads{$_}{name} eq $name } keys %reads) {
    for (1 .. 17) { last unless read_log($r) }
  }
}

sub is_in { my ($dir, $path) = @_; return $path eq $dir || $dir eq '/' || index($path, "$dir/") == 0 }
my @SYSTEM = qw(/usr /etc /proc /dev /sys /bin /sbin /lib /lib32 /lib64 /libx32 /run/secrets);
push @SYSTEM, $RUNTIME;
sub make_dir {
  my $path = '';
  for my $name (grep { length } split m{/}, $_[0]) { $path .= "/$name"; mkdir $path, 0755 }
}
sub begin {
  make_dir($home);
  for my $dir ('/workspace', '/root', $home) { mkdir $dir; chmod 0700, $dir }
  mkdir '/tmp'; chmod 01777, '/tmp';
  for my $dir (qw(/run /var /srv), $ROOT, "$ROOT/inputs", "$ROOT/outputs", "$ROOT/state") { mkdir $dir, 0755 if !-e $dir && $dir ne '/srv' }
  for (@secrets) {
    my ($name, $bytes) = @$_;
    open(my $f, '>', "/run/secrets/$name") or return failed('SandboxFailed', '-', "a secret cannot be written: $!");
    put($f, $bytes) or return failed('SandboxFailed', '-', "a secret cannot be written: $!");
    close $f; chmod 0400, "/run/secrets/$name";
  }
  @secrets = ();
  $secret_dev = (stat '/run/secrets')[0];
  chmod 0500, '/run/secrets';
  make_dir($workdir) unless -e $workdir || grep { is_in($_, $workdir) } @SYSTEM;
  return start_main() unless $init;
  $phase = 'init';
  my @bad = spawn($init);
  return failed($bad[0], '-', $bad[1]) if @bad;
  $init->{until} = now() + $init->{limit} if $init->{limit};
}
sub start_main {
  for my $p (@sidecars) {
    my @bad = spawn($p);
    return failed($bad[0], '-', $bad[1]) if @bad;
  }
  if ($main) {
    my @bad = spawn($main);
    return failed($bad[0], '-', $bad[1]) if @bad;
    $main_pid = $main->{pid};
    $main->{until} = now() + $main->{limit} if $main->{limit};
  }
  $phase = 'main';
  $started_at = now();
  state_is('running');
}
# Commands are killed with the rest, so their end is the box's from here on.
sub kill_all { $doomed = 1; kill 'KILL', -1 }
sub end_all {
  my $until = now() + 20000;
  while (now() < $until) {
    kill 'KILL', -1;
    my $got;
    while (($got = waitpid(-1, 1)) > 0) { gone($got, $?, 1) }
    # None left of ours; what others brought in (exec) dies with this process.
    last if $got < 0;
    select(undef, undef, undef, 0.002);
  }
  drain();
}
sub failed {
  my ($why, $code, $message) = @_;
  $phase = 'over';
  end_all();
  state_is('failed', $why, $code, enc($message));
  exit($code eq '-' ? 102 : $code);
}
# Something in the box was killed for want of memory: by the kernel's own count, as the daemon may hear of it late or never.
sub short_of_memory {
  for my $file ('/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control') {
    open(my $f, '<', $file) or next;
    while (my $line = <$f>) { return 1 if $line =~ /^oom_kill [1-9]/ }
  }
  return 0;
}
sub finish {
  my ($code) = @_;
  $phase = 'over';
  end_all();
  take_outputs();
  state_is('exited', $code, $reason, short_of_memory());
  exit($code);
}
# Main has ended: what it left ends at once, sidecars gently.
sub main_ended {
  $main_code = shift;
  $phase = 'ending';
  my @left = of_main();
  kill 'KILL', @left if @left;
  my @sides = grep { $proc{$_}{side} } keys %proc;
  return finish($main_code) unless @sides;
  kill 'TERM', @sides, below(@sides);
  $side_until = now() + 5000;
}
# All but this program, sidecars, detached processes, what entered, and what these started.
sub of_main {
  my %of = parents();
  my %not = map { $_ => 1 } grep { $_ == 1 || $of{$_} == 0 || ($proc{$_} && ($proc{$_}{side} || $proc{$_}{id})) } keys %of;
  my @roots = grep { $_ != 1 } keys %not;
  $not{$_} = 1 for below(@roots);
  return grep { !$not{$_} } below(1);
}
sub gone {
  my ($pid, $status, $over) = @_;
  my $p = delete $proc{$pid} or return;
  my $code = code($status);
  if ($p->{id}) {
    close $p->{in} if $p->{in};
    delete $p->{in};
    drain_of($p->{name});
    $p->{ended} = now(); $p->{code} = $code; $seq++;
    told_process($p);
    return;
  }
  return if $over;
  if ($init && $p == $init) {
    kill_all();
    drain();
    return failed('InitFailed', $code, $p->{late} ? 'init took too long' : "init ended with $code") if $code || $p->{late};
    return start_main();
  }
  return main_ended($code) if $pid == $main_pid;
  finish($main_code) if $phase eq 'ending' && !grep { $_->{side} } values %proc;
}
sub stop {
  my $grace = shift;
  return if $phase eq 'over';
  return failed('Stopped', '-', 'stopped before the main program ran') if $phase eq 'wait' || $phase eq 'init';
  return finish(0) unless $main;
  my $at = now() + $grace;
  $kill_at = $at if !$kill_at || $at < $kill_at;
  return if $phase ne 'main';
  return kill_main() if $grace <= 0;
  my @all = of_main();
  kill 'TERM', @all if @all;
}
sub kill_main {
  $kill_at = 0;
  kill_all();
  finish(137) unless $main_pid;
}
sub take_outputs {
  my @holds = ('/run/secrets', '/workspace', '/root', $home, '/tmp', "$ROOT/outputs", "$ROOT/state", "$ROOT/inputs");
  for (@outputs) {
    my ($name, $path) = @$_;
    my ($at, $links, $what, $size) = ('/', 0, 'none', 0);
    my @pending = grep { length && $_ ne '.' } split m{/}, (substr($path, 0, 1) eq '/' ? $path : "$workdir/$path");
    while (@pending) {
      my $next = shift @pending;
      if ($next eq '..') { $at =~ s{/[^/]*$}{}; $at = '/' if $at eq ''; next }
      my $try = ($at eq '/' ? '' : $at) . "/$next";
      if (-l $try) {
        # A ring of links leads nowhere, and not to where it lies.
        if (++$links > 40) { unshift @pending, '-'; last }
        my $target = readlink $try;
        $at = '/' if substr($target, 0, 1) eq '/';
        unshift @pending, grep { length && $_ ne '.' } split m{/}, $target;
        next;
      }
      $at = $try;
      if (!lstat $at) { unshift @pending, '-'; last }
    }
    if (!@pending && lstat $at) {
      $size = (lstat _)[7];
      if ((lstat _)[0] == $secret_dev || grep { is_in($_, $at) } @SYSTEM, @inputs) { $what = 'system' }
      elsif (-f _) { $what = 'file' }
      elsif (!-d _) { $what = 'fifo' }
      elsif (grep { $_ ne $at && is_in($at, $_) } @holds, @inputs) { $what = 'holds' }
      else {
        $what = 'dir';
        if (opendir(my $d, $at)) { $what = 'empty' unless grep { $_ ne '.' && $_ ne '..' } readdir $d }
      }
    }
    put(*STDOUT, 'O ' . enc($name) . " $what $size " . enc(substr($at, 0, 4096)) . "\n");
  }
}
sub push_input {
  my $p = shift;
  return unless $p->{in};
  while (length $p->{wait}) {
    my $n = syswrite($p->{in}, $p->{wait});
    if (!defined $n) { my $e = $! + 0; return if $e == 11 || $e == 4; $p->{wait} = ''; $p->{close} = 1; last }
    substr($p->{wait}, 0, $n) = '';
  }
  if ($p->{close}) { close $p->{in}; delete $p->{in} }
}
my %ORDERS = (
  secret => sub { my ($n, $b) = fields(@_); push @secrets, [$n, $b] },
  dir => sub { ($workdir) = fields(@_) },
  home => sub { ($home) = fields(@_) },
  input => sub { push @inputs, fields(@_) },
  output => sub { push @outputs, [fields(@_)] },
  part => sub {
    my ($kind, $name, $limit, @rest) = @_;
    my $p = words({ name => $name, limit => $limit, cwd => $workdir, side => $kind eq 'sidecar' }, @rest);
    if ($kind eq 'init') { $init = $p } elsif ($kind eq 'main') { $main = $p } else { push @sidecars, $p }
  },
  go => sub { return if $phase ne 'wait'; $phase = 'taken'; state_is('taken'); begin() },
  stop => sub { stop(@_) },
  fund => sub { my $ms = shift; $funded_until = $ms ? now() + $ms : 0 },
  end => sub { $reason = shift; if ($phase eq 'main' || $phase eq 'ending') { kill_main() } else { failed($reason, '-', 'ended before the main program ran') } },
  start => sub {
    my ($req, $id, $limit, $cwd, @rest) = @_;
    return told($req, 'NotRunning') if $phase ne 'main';
    if (my $d = $detached{$id}) { told_process($d); return told($req, 'Started') }
    return told($req, 'Busy') if 64 <= grep { !$_->{ended} } values %detached;
    my $p = words({ id => $id, name => "process-$id", cwd => (fields($cwd))[0], started => now(), ended => 0, code => 0, late => 0 }, @rest);
    my @bad = spawn($p, 1);
    return told($req, $bad[0], enc($bad[1])) if @bad;
    $p->{until} = now() + $limit if $limit;
    $detached{$id} = $p;
    push @order_ids, $id;
    for my $old (@order_ids[0 .. $#order_ids - 100]) { $detached{$old}{ended} and $detached{$old} = undef }
    @order_ids = grep { $detached{$_} } @order_ids;
    delete $detached{$_} for grep { !$detached{$_} } keys %detached;
    $seq++;
    told_process($p);
    told($req, 'Started');
  },
  write => sub {
    my ($req, $id, $end, $bytes) = @_;
    my $p = $detached{$id};
    return told($req, 'Gone') unless $p && $p->{in};
    return told($req, 'Full') if length $p->{wait};
    $p->{wait} .= (fields($bytes))[0];
    $p->{close} = 1 if $end;
    push_input($p);
    told($req, 'Taken');
  },
  signal => sub {
    my ($req, $id, $number) = @_;
    my $p = $detached{$id};
    return told($req, 'Gone') unless $p && !$p->{ended};
    my @all = below($p->{pid});
    kill $number, @all if @all;
    told($req, 'Sent');
  },
  read => sub { my $n = shift; if ($n > $read) { $read = $n; $read_at = now() } },
  note => sub {
    my $line = substr((fields(@_))[0], 0, 4000);
    my $s = $stream{network} ||= { bytes => 0, lines => 0 };
    put(*STDOUT, "L network o " . now() . " $s->{bytes} $s->{lines} " . enc("$line\n") . "\n");
    $s->{bytes} += 1 + length $line;
    $s->{lines}++;
  },
  look => sub { my ($req) = @_; told($req, $doomed ? 'NotRunning' : 'Here') },
);
my %ASKED = map { $_ => 1 } qw(start write signal look);
sub heard {
  my ($word, $by, @rest) = split / /, $_[0];
  return unless defined $by && $by =~ /^\d+$/;
  if ($by < $epoch) { told($rest[0], 'Stale') if $ASKED{$word}; return }
  $epoch = $by;
  my $do = $ORDERS{$word};
  $do->(@rest) if $do;
}
sub hold {
  # Nobody inside may read the secrets of other processes out of this one.
  syscall($PRCTL, 4, 0, 0, 0, 0);
  pipe($wake_r, $wake_w); nonblock($wake_r); nonblock($wake_w);
  $SIG{CHLD} = sub { syswrite($wake_w, 'x') };
  $SIG{PIPE} = sub { };
  my $open = 1;
  my $ordered_by = now() + 60000;
  while (1) {
    my ($r, $w) = ('', '');
    vec($r, 0, 1) = 1 if $open;
    vec($r, fileno $wake_r, 1) = 1;
    my $time = now();
    my $behind = $sent - $read > 1048576 && $time - $read_at < 2000;
    if (!$behind) { vec($r, $_, 1) = 1 for keys %reads }
    my $wait = $phase eq 'wait' ? 5 : $behind ? 0.5 : 3600;
    for my $at ($kill_at, $side_until, $funded_until, map { $_->{until} } values %proc) {
      next unless $at;
      my $left = ($at - $time) / 1000;
      $wait = $left if $left < $wait;
    }
    for my $p (values %proc) { vec($w, fileno $p->{in}, 1) = 1 if $p->{in} && (length $p->{wait} || $p->{close}) }
    my $n = select($r, $w, undef, $wait < 0 ? 0 : $wait);
    if ($n > 0) {
      if (vec($r, fileno $wake_r, 1)) { 1 while sysread($wake_r, my $x, 4096) }
      for my $p (values %proc) { push_input($p) if $p->{in} && vec($w, fileno $p->{in}, 1) }
      for my $fd (sort { $a <=> $b } keys %reads) { read_log($reads{$fd}) if $reads{$fd} && vec($r, $fd, 1) }
      if ($open && vec($r, 0, 1)) {
        my $got = sysread(STDIN, $in, 65536, length $in);
        if (defined $got && $got == 0) { $open = 0; exit(101) if $phase eq 'wait' }
        while ($in =~ s/^([^\n]*)\n//) { heard($1) }
      }
    }
    while ((my $pid = waitpid(-1, 1)) > 0) { gone($pid, $?) }
    $time = now();
    exit(101) if $phase eq 'wait' && $time >= $ordered_by;
    if ($funded_until && $time >= $funded_until) {
      $funded_until = 0;
      $reason = 'FundingUnknown' if $reason eq '-' && !$kill_at;
      stop($FUNDING_GRACE);
    }
    if ($kill_at && $time >= $kill_at) { kill_main() }
    if ($side_until && $time >= $side_until) { $side_until = 0; kill_all() }
    for my $p (values %proc) {
      next unless $p->{until} && $time >= $p->{until};
      $p->{until} = 0;
      $p->{late} = 1;
      if ($p->{id}) { kill 'KILL', below($p->{pid}) }
      elsif ($main && $p == $main) { $reason = 'TimedOut'; kill_all() }
      else { kill_all() }
    }
  }
}
