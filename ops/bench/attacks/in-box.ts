/**
 * Attacks from inside a box, as Perl that goes on until its box is gone. Each writes as much as it is let, on many connections at once, reads
 * nothing, and opens all anew twice a second, so that it meets what the bounds of a connection do not bound.
 */

/** To the egress proxy: one connection of large requests for a target that never answers, the others of requests that are refused. */
export function floodProxy(silentPort: number): string[] {
  const large = `"GET http://127.0.0.1:${silentPort}/ HTTP/1.1\\r\\nHost: x\\r\\nX: " . ("x" x 7000) . "\\r\\n\\r\\n"`;
  const refused = `"GET http://127.0.0.2:1/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"`;
  return flood({
    module: 'IO::Socket::INET',
    open: `IO::Socket::INET->new(PeerAddr => "127.0.0.1:3128", Timeout => 1)`,
    connections: 250,
    text: `($n ? ${refused} x 1000 : ${large} x 20)`,
  });
}

/** To the API of its own attempt, without its token. */
export function floodAttemptApi(): string[] {
  return flood({
    module: 'IO::Socket::UNIX',
    open: `IO::Socket::UNIX->new("/run/svc/api.sock")`,
    connections: 1_000,
    text: `"GET /flood HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" x 2000`,
  });
}

/** Takes the processor time that its box may have, and nothing else. */
export const IDLE_BURNING: readonly string[] = ['sh', '-c', 'while :; do :; done'];

interface Flood {
  readonly module: string;
  readonly open: string;
  readonly connections: number;
  readonly text: string;
}

function flood({ module, open, connections, text }: Flood): string[] {
  const script = `
    $SIG{PIPE} = 'IGNORE'; $| = 1;
    my ($opened, $bytes) = (0, 0);
    while (1) {
      my @all = grep { defined } map { ${open} } 1 .. ${connections};
      $opened += @all;
      $_->blocking(0) for @all;
      my $until = time + 0.5;
      my $took = 1;
      while ($took && time < $until) {
        $took = 0;
        for my $n (0 .. $#all) {
          my $wrote = syswrite $all[$n], ${text};
          if ($wrote) { $took = 1; $bytes += $wrote }
        }
      }
      my $left = $until - time;
      select undef, undef, undef, $left if $left > 0;
      print "$opened connections, $bytes bytes\\n";
    }`;
  return ['perl', `-M${module}`, '-MTime::HiRes=time', '-e', script];
}
