/**
 * Programs that stand for Jupyter and code-server where a machine has none, and are as strict.
 *
 * Jupyter: it knows nothing beside its base URL, believes no
 * foreign host, wants the token of its own cookie with every POST, and speaks WebSocket by Jupyter's subprotocol only.
 *
 * Below its base: `GET /` leads to `tree`, which sets the cookie and says what it was asked and told; `POST api/kernels` makes one;
 * `api/kernels/k/channels` answers any message with the text `42` and 1 MiB in one frame; `POST api/shutdown` takes nobody in any more and
 * ends a moment later.
 *
 * code-server: it knows nothing of a path before its own, leads on by relative redirects, and speaks WebSocket to pages of the host
 * alone that it is told to be seen at.
 */
import { existsSync } from 'node:fs';

export const SUBPROTOCOL = 'v1.kernel.websocket.jupyter.org';
export const BIG_FRAME = 2 ** 20;

/** Of the socket `$c`: `$method`, `$path`, the headers `%h`; `$say` answers and ends, `$agree` joins a WebSocket. */
const REQUEST = String.raw`
  binmode $c;
  my ($head, %h) = ('');
  while (my $line = <$c>) {
    $head .= $line;
    last if $line eq "\r\n";
    $h{lc $1} = $2 if $line =~ /^([^:\s]+): *(.*?)\r\n$/;
  }
  my ($method, $path) = $head =~ /^(\S+) (\S+)/;
  my $say = sub {
    my ($status, $body, @more) = @_;
    my $length = length $body;
    print $c join("\r\n", "HTTP/1.1 $status -", 'Connection: close', "Content-Length: $length", @more, '', $body);
    close $c;
    exit;
  };
  my $agree = sub {
    $say->(400, 'no WebSocket') unless lc($h{upgrade} // '') eq 'websocket' && $h{'sec-websocket-version'} eq '13';
    my ($sum) = qx(printf %s '$h{'sec-websocket-key'}258EAFA5-E914-47DA-95CA-C5AB0DC85B11' | sha1sum) =~ /^(\w+)/;
    my $accept = substr(pack('u', pack('H*', $sum)), 1, 27);
    $accept =~ tr|\x60 -_|AA-Za-z0-9+/|;
    print $c join("\r\n", 'HTTP/1.1 101 -', 'Connection: Upgrade', 'Upgrade: websocket', "Sec-WebSocket-Accept: $accept=", @_, '', '');
    $c->flush;
  };
`;

export const STRICT_JUPYTER = String.raw`#!/usr/bin/perl
use IO::Socket::INET;
my ($port) = map { /^--port=(.*)/ ? $1 : () } @ARGV;
my ($base) = map { /^--ServerApp.base_url=(.*)/ ? $1 : () } @ARGV;
my $s = IO::Socket::INET->new(Listen => 20, LocalAddr => "127.0.0.1:$port", ReuseAddr => 1) or die;
$SIG{CHLD} = 'IGNORE';
my $main = $$;
$SIG{USR1} = sub { close $s; select(undef, undef, undef, 0.3); exit };
while (my $c = $s->accept) {
  if (fork) { close $c; next }
  close $s;
  ${REQUEST}
  $say->(404, "nothing is beside $base") unless index($path, $base) == 0;
  $say->(403, "foreign host") unless $h{host} =~ /^(localhost|127\.0\.0\.1)(:\d+)?$/;
  my $rest = substr($path, length $base);
  $say->(302, '', "Location: ${'$'}{base}tree?") if $rest eq '';
  $say->(200, "$main\n$head", "Set-Cookie: _xsrf=2|tok; Path=$base", 'Service-Worker-Allowed: /') if $rest =~ /^tree/;
  if ($method eq 'POST') {
    my $cookie = ($h{cookie} // '') =~ /(?:^|; )_xsrf=2\|tok(?:;|$)/;
    $say->(403, "'_xsrf' argument missing from POST") unless $cookie && ($h{'x-xsrftoken'} // '') eq '2|tok';
    kill 'USR1', $main if $rest eq 'api/shutdown';
    $say->(201, '{"id":"k"}');
  }
  $say->(404, '') unless $rest =~ m{^api/kernels/k/channels};
  $say->(400, 'another protocol') unless ($h{'sec-websocket-protocol'} // '') eq '${SUBPROTOCOL}';
  $agree->('Sec-WebSocket-Protocol: ${SUBPROTOCOL}');
  sysread($c, my $question, 4096);
  print $c pack('CCa*', 0x81, 2, '42'), pack('CCQ>', 0x82, 127, ${BIG_FRAME}), 'x' x ${BIG_FRAME};
  $c->flush;
  1 while sysread($c, my $more, 4096);
  exit;
}
`;

export const STRICT_CODE_SERVER = String.raw`#!/usr/bin/perl
use IO::Socket::INET;
my ($at) = map { /^(127\.0\.0\.1:\d+)$/ ? $1 : () } @ARGV;
my $s = IO::Socket::INET->new(Listen => 20, LocalAddr => $at, ReuseAddr => 1) or die;
$SIG{CHLD} = 'IGNORE';
while (my $c = $s->accept) {
  if (fork) { close $c; next }
  ${REQUEST}
  $say->(302, '', 'Location: ./?folder=/home/svc') if $path eq '/';
  $say->(200, "$path") if $path eq '/?folder=/home/svc';
  $say->(404, 'nothing is there') unless $path eq '/stable?reconnection=false';
  $say->(403, 'foreign origin') unless ($h{origin} // '') =~ m{^https?://(.*)$} && $1 eq $h{'x-forwarded-host'};
  $agree->();
  1 while sysread($c, my $more, 4096);
  exit;
}
`;

const PROGRAMS = ['jupyter-lab', 'jupyter-notebook', 'jupyter-server'];

/** Why the real one cannot be tried; undefined: it can. Images of the catalog are this machine's own system. */
export const missingJupyter =
  PROGRAMS.some((name) => existsSync(`/usr/bin/${name}`)) && existsSync('/usr/lib/python3/dist-packages/ipykernel')
    ? undefined
    : 'no Jupyter with a Python kernel in /usr';
