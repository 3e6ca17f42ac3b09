# Mode exec: it runs one command for a client, or connects to one port of the box's loopback, and speaks in frames on its input and output. It
# kills what the command left when its client goes.

sub frame { my ($type, $bytes) = @_; return pack('CN', $type, length $bytes) . $bytes }
sub text { my $t = shift; $t =~ s/([^\x20-\x7e]|["\\])/sprintf('\\u%04x', ord $1)/ge; return qq("$t") }
# The first frame is the order, then input, its end, signals, sizes. Whoever closes the input wants nothing more.
sub client {
  syscall($PRCTL, 36, 1, 0, 0, 0);
  $SIG{PIPE} = sub { };
  my $in = '';
  my $next = sub {
    while (length $in < 5 || length $in < 5 + unpack('N', substr($in, 1, 4))) {
      my $n = sysread(STDIN, $in, 65536, length $in);
      exit(0) unless $n;
    }
    my $n = unpack('N', substr($in, 1, 4));
    my $f = substr($in, 5, $n);
    substr($in, 0, 5 + $n) = '';
    return $f;
  };
  my ($mode, @rest) = split / /, $next->();
  return port(\$in, @rest) if $mode eq 'port';
  my ($limit, $size, $cwd, @words) = @rest;
  my $p = words({ name => 'exec', cwd => (fields($cwd))[0] }, @words);
  pipe(my $wr, my $ww); nonblock($wr); nonblock($ww);
  $SIG{CHLD} = sub { syswrite($ww, 'x') };
  pipe(my $tr, my $tw);
  my ($or, $ow, $er, $ew, $ir, $iw, $tty, $slave);
  if ($size ne '-') {
    open($tty, '+<', '/dev/ptmx') or return put(*STDOUT, frame(19, '{"end":"NotExecuted","reason":"SandboxFailed","message":"no terminal"}'));
    my $zero = pack('i', 0);
    ioctl($tty, 0x40045431, $zero);
    my $number = pack('i', 0);
    ioctl($tty, 0x80045430, $number);
    $slave = '/dev/pts/' . unpack('i', $number);
    resize($tty, $size);
  } else { pipe($or, $ow); pipe($er, $ew); pipe($ir, $iw) }
  my $pid = fork;
  return put(*STDOUT, frame(19, '{"end":"NotExecuted","reason":"SandboxFailed","message":"no process can be made"}')) unless defined $pid;
  if (!$pid) {
    syscall($SETSID);
    if ($tty) {
      open(my $s, '+<', $slave) or exit_now(1);
      ioctl($s, 0x540e, 0);
      become($p, $s, $s, $s, $tw);
    }
    become($p, $ir, $ow, $ew, $tw);
  }
  close $_ for grep { $_ } ($ow, $ew, $tw, $ir);
  my $told = '';
  sysread($tr, $told, 64);
  if ($told ne '') {
    my ($reason, $message) = why($p, $told);
    return put(*STDOUT, frame(19, '{"end":"NotExecuted","reason":"' . $reason . '","message":' . text($message) . '}'));
  }
  put(*STDOUT, frame(21, ''));
  my %from = $tty ? (fileno $tty => [$tty, 16]) : (fileno $or => [$or, 16], fileno $er => [$er, 17]);
  my $to = $tty || $iw;
  nonblock($_) for ($to, map { $_->[0] } values %from);
  nonblock(*STDOUT); nonblock(*STDIN);
  # What came together with the order is looked at without waiting for more.
  my $fresh = 1;
  my ($out, $wait, $close, $ended, $late, $status) = ('', '', 0, 0, 0, 0);
  my $until = $limit ? now() + $limit : 0;
  while (1) {
    my ($r, $w) = ('', '');
    vec($r, 0, 1) = 1;
    vec($r, fileno $wr, 1) = 1;
    my $listens = length $out < 65536;
    if ($listens) { vec($r, $_, 1) = 1 for keys %from }
    vec($w, 1, 1) = 1 if length $out;
    vec($w, fileno $to, 1) = 1 if $to && length $wait;
    my $left = $until ? ($until - now()) / 1000 : 3600;
    # It has written all that it ever will.
    $left = 0 if $ended || $fresh;
    $fresh = 0;
    my $more = select($r, $w, undef, $left < 0 ? 0 : $left);
    if ($more <= 0) { $r = ''; $w = '' }
    # Only what was looked at after the end counts.
    my $quiet = $ended && $listens && !grep { vec($r, $_, 1) } keys %from;
    if (vec($r, fileno $wr, 1)) { 1 while sysread($wr, my $x, 4096) }
    if ($ended && length $out && !vec($w, 1, 1)) { my $o = ''; vec($o, 1, 1) = 1; my $i = ''; vec($i, 0, 1) = 1; select($i, $o, undef, 60) }
    if (vec($w, 1, 1)) {
      my $n = syswrite(STDOUT, $out);
      if (defined $n) { substr($out, 0, $n) = '' }
      elsif ($! + 0 != 11 && $! + 0 != 4) { kill_below() unless $ended; exit(0) }
    }
    for my $fd (sort { $a <=> $b } keys %from) {
      next unless vec($r, $fd, 1) && length $out < 65536;
      my ($fh, $type) = @{$from{$fd}};
      my $n = sysread($fh, my $bytes, 32768);
      if ($n) { $out .= frame($type, $bytes) }
      elsif (defined $n || ($! + 0 != 11 && $! + 0 != 4)) { delete $from{$fd}; close $fh unless $tty }
    }
    if (vec($r, 0, 1)) {
      my $n = sysread(STDIN, $in, 65536, length $in);
      if (!$n && (defined $n || ($! + 0 != 11 && $! + 0 != 4))) { kill_below() unless $ended; exit(0) }
    }
    while (length $in >= 5) {
      my ($type, $size) = unpack('CN', $in);
      last if length $in < 5 + $size;
      my $bytes = substr($in, 5, $size);
      substr($in, 0, 5 + $size) = '';
      if ($type == 0) { if ($to) { $wait .= $bytes } else { $out .= frame(18, pack('N', $size)) } }
      elsif ($type == 1) {
        # The end of a terminal's input is its hang-up.
        if ($tty) { my @all = below($$); kill 'HUP', @all if @all } else { $close = 1 }
      }
      elsif ($type == 2) { my @all = below($$); kill $bytes, @all if @all && !$ended }
      elsif ($type == 3 && $tty) { resize($tty, $bytes) }
    }
    if ($to && length $wait) {
      my $n = syswrite($to, $wait);
      if (defined $n) { substr($wait, 0, $n) = ''; $out .= frame(18, pack('N', $n)) if $n }
      elsif ($! + 0 != 11 && $! + 0 != 4) { $out .= frame(18, pack('N', length $wait)); $wait = ''; undef $to unless $tty }
    }
    if ($close && $to && !length $wait) { close $to; undef $to; undef $iw }
    while (!$ended && (my $got = waitpid(-1, 1)) > 0) { if ($got == $pid) { $status = $?; $ended = 1 } }
    if ($until && now() >= $until && !$ended) { $late = 1; $until = 0; kill_below(); $status = 9; $ended = 1; next }
    if ($ended) {
      $until = 0;
      next if length $out || !$quiet;
      put(*STDOUT, frame(19, '{"end":"Exited","exitCode":' . code($status) . ',"timedOut":' . ($late ? 'true' : 'false') . '}'));
      # What it left behind goes on, unheard, and must not die of a broken pipe.
      open(STDIN, '<', '/dev/null'); open(STDOUT, '>', '/dev/null'); open(STDERR, '>', '/dev/null');
      for my $fd (keys %from) { my $f = fcntl($from{$fd}[0], 3, 0); fcntl($from{$fd}[0], 4, $f & ~2048) }
      while (%from && !$tty) {
        my $open = '';
        vec($open, $_, 1) = 1 for keys %from;
        select($open, undef, undef, undef);
        for my $fd (keys %from) { delete $from{$fd} if vec($open, $fd, 1) && !sysread($from{$fd}[0], my $bytes, 65536) }
        1 while waitpid(-1, 1) > 0;
      }
      exit(0);
    }
  }
}
sub resize { my ($tty, $size) = @_; my ($c, $r) = split /x/, $size; ioctl($tty, 0x5414, pack('SSSS', $r, $c, 0, 0)) }
# To a port of the box's own loopback. Half-open ends are kept.
sub port {
  my ($rest, $number) = @_;
  socket(my $s, 2, 1, 0) or return put(*STDOUT, frame(20, "socket: $!"));
  connect($s, pack('Sna4x8', 2, $number, "\x7f\0\0\1")) or return put(*STDOUT, frame(20, "$!"));
  put(*STDOUT, frame(21, ''));
  nonblock($_) for ($s, *STDIN, *STDOUT);
  my ($in, $out, $wait, $shut, $eof, $over) = ($$rest, '', '', 0, 0, 0);
  my $fresh = 1;
  while (1) {
    my ($r, $w) = ('', '');
    vec($r, 0, 1) = 1;
    vec($r, fileno $s, 1) = 1 if !$eof && length $out < 65536;
    vec($w, fileno $s, 1) = 1 if length $wait;
    vec($w, 1, 1) = 1 if length $out;
    select($r, $w, undef, $fresh ? 0 : 60);
    $fresh = 0;
    if (vec($w, 1, 1)) {
      my $n = syswrite(STDOUT, $out);
      if (defined $n) { substr($out, 0, $n) = '' } elsif ($! + 0 != 11 && $! + 0 != 4) { exit(0) }
    }
    if (!$eof && vec($r, fileno $s, 1)) {
      my $n = sysread($s, my $bytes, 32768);
      if ($n) { $out .= frame(16, $bytes) }
      elsif (defined $n) { $eof = 1; $out .= frame(1, '') }
      elsif ($! + 0 != 11 && $! + 0 != 4) { exit(0) }
    }
    if (vec($r, 0, 1)) {
      my $n = sysread(STDIN, $in, 65536, length $in);
      exit(0) if !$n && (defined $n || ($! + 0 != 11 && $! + 0 != 4));
    }
    while (length $in >= 5) {
      my ($type, $size) = unpack('CN', $in);
      last if length $in < 5 + $size;
      $wait .= substr($in, 5, $size) if $type == 0;
      $over = 1 if $type == 1;
      substr($in, 0, 5 + $size) = '';
    }
    if (length $wait) {
      my $n = syswrite($s, $wait);
      if (defined $n) { substr($wait, 0, $n) = ''; $out .= frame(18, pack('N', $n)) if $n }
      elsif ($! + 0 != 11 && $! + 0 != 4) { exit(0) }
    }
    if ($over && !$shut && !length $wait) { $shut = 1; shutdown($s, 1) }
    exit(0) if $shut && $eof && !length $out;
  }
}
