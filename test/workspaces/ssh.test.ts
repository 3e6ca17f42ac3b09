/** The ways into a running Workspace, on a service that is restarted once: SSH with OpenSSH's own clients, and tools in a browser. */
import test, { type ExecutionContext } from 'ava';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import ssh2, { type ClientChannel } from 'ssh2';
import { listAt, numberAt, objectOf, path, textAt } from '../e2e/client.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { SMALL } from '../jobs/jobs.js';
import { shareKilled, sshPort } from '../sandboxes/killed.js';
import { missingSftpServer, missingSsh, openSshKit, type Ended, type SshKit } from '../ssh/ssh.js';

type Declare = (title: string, body: (t: ExecutionContext) => Promise<void>) => void;

/** With the Workspace, which the first of these tests makes. */
const withDesk: Declare = (title, body) =>
  test.serial(title, async (t) => {
    begun ??= make();
    await begun;
    await body(t);
  });
const serial: Declare = missingSsh === undefined ? withDesk : test.serial.skip;
const withSftp: Declare = missingSftpServer === undefined ? serial : test.serial.skip;

const AT = path('workspaces', 'default', 'desk');
const USER = 'desk.default@127.0.0.1';
const PHASE_MS = 60_000;

let service: Running;
let kit: SshKit;
let port: number;
/** As the status says it. */
let hostKey: string;
let begun: Promise<void> | undefined;

test.before(async (t) => {
  t.timeout(120_000);
  if (missingSsh !== undefined) return;
  kit = await openSshKit();
  port = await sshPort();
  service = await shareKilled();
});
test.after.always(async () => {
  await service?.close();
  await kit?.close();
});

async function make(): Promise<void> {
  const spec = {
    ephemeral: true,
    resources: SMALL,
    sshKeys: [await kit.publicKey('mine')],
    env: [{ name: 'PATH', value: '/home/svc/bin:/usr/bin:/bin' }],
  };
  const answer = await service.client().post(path('workspaces', 'default'), objectOf('Workspace', 'desk', spec));
  if (answer.status !== 201) throw new Error(answer.text);
}

async function phase(wanted: string): Promise<unknown> {
  return until(
    `the Workspace is ${wanted}`,
    async () => {
      const { body } = await service.client().get(AT);
      return textAt(body, 'status', 'phase') === wanted ? body : undefined;
    },
    PHASE_MS,
  );
}

const set = async (t: ExecutionContext, spec: object): Promise<boolean> =>
  t.is((await service.client().merge(AT, { spec })).status, 200);

const options = (key = 'mine'): string[] => kit.options(port, key, hostKey);
const ssh = (command: string, input = ''): Promise<Ended> => kit.run('ssh', [...options(), USER, command], input);

serial('a command runs at home, by the host key of the status, and its exit code comes back', async (t) => {
  const running = await phase('Running');
  hostKey = textAt(running, 'status', 'connect', 'ssh', 'hostKey');
  t.is(textAt(running, 'status', 'connect', 'ssh', 'command'), `ssh -p ${port} ${USER}`);
  const ready = listAt(running, 'status', 'conditions').find((each) => textAt(each, 'type') === 'SSHReady');
  t.is(textAt(ready, 'status'), 'True');
  t.regex(hostKey, /^ssh-ed25519 \S+$/);
  t.deepEqual(await ssh('pwd; cat; echo oops >&2; exit 7', 'typed'), {
    code: 7,
    stdout: '/home/svc\ntyped',
    stderr: 'oops\n',
  });
  const wrong = await kit.run('ssh', [...options('other'), USER, 'true']);
  t.regex(wrong.stderr, /Permission denied \(publickey\)/);
});

serial('a command over SSH sees who and where it is, and the PATH of a command by exec', async (t) => {
  const names = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TERM'];
  const look = `for name in ${names.join(' ')}; do printf '%s=%s\\n' $name "$(printenv $name)"; done`;
  const { body } = await service.client().post(`${AT}/exec`, { command: ['sh', '-c', look] });
  const [places, home] = textAt(body, 'stdout').split('\n');
  t.deepEqual([places, home], ['PATH=/home/svc/bin:/usr/bin:/bin', 'HOME=/home/svc']);
  const who = `${places}\n${home}\nUSER=root\nLOGNAME=root\nSHELL=/bin/bash\n`;
  const withLanguage = [...options(), '-o', 'SetEnv=LANG=C.UTF-8'];
  t.is((await kit.run('ssh', [...withLanguage, USER, look])).stdout, `${who}LANG=C.UTF-8\nTERM=\n`);
  t.is((await ssh(look)).stdout, `${who}LANG=\nTERM=\n`);
  const onTerminal = await kit.run('ssh', [...options(), '-tt', USER, look]);
  t.regex(onTerminal.stdout.replaceAll('\r', ''), /\nSHELL=\/bin\/bash\nLANG=\nTERM=\S+\n$/);
});

withSftp('scp and sftp bring files in and out', async (t) => {
  const bytes = randomBytes(2 * 2 ** 20);
  const [from, back, again] = [join(kit.dir, 'from'), join(kit.dir, 'back'), join(kit.dir, 'again')];
  await writeFile(from, bytes);
  const put = await kit.run('scp', [...options(), from, `${USER}:there`]);
  t.deepEqual([put.code, put.stderr], [0, '']);
  t.is((await kit.run('scp', [...options(), `${USER}:there`, back])).code, 0);
  const batch = await kit.run('sftp', [...options(), '-b', '-', USER], `rename there moved\nget moved ${again}\n`);
  t.deepEqual([batch.code, batch.stderr], [0, '']);
  for (const file of [back, again]) t.true((await readFile(file)).equals(bytes));
});

serial('a terminal knows its size, and hears when it changes', async (t) => {
  const client = new ssh2.Client();
  const privateKey = await readFile(kit.key('mine'));
  client.connect({ host: '127.0.0.1', port, username: 'desk.default', privateKey });
  await once(client, 'ready');
  const window = { term: 'xterm', cols: 91, rows: 17 };
  const shell = await new Promise<ClientChannel>((resolve, reject) =>
    client.shell(window, (error, channel) => (error ? reject(error) : resolve(channel))),
  );
  let seen = '';
  shell.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  shell.write('stty size; echo $TERM\n');
  await until('the size is said', () => /17 91\r\n(.*\r\n)*xterm\r\n/.test(seen) || seen.includes('17 91'));
  shell.setWindow(33, 120, 0, 0);
  await until('the new size is said', () => {
    shell.write('stty size\n');
    return seen.includes('33 120');
  });
  shell.write('exit 5\n');
  const [code] = (await once(shell, 'exit')) as [number];
  t.is(code, 5);
  client.end();
});

serial('a port inside is reached by ssh -L', async (t) => {
  const server = kit.begin('ssh', [
    ...options(),
    USER,
    `exec perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1:7070", ReuseAddr => 1) or die; $| = 1; print "open\\n"; while ($c = $s->accept) { print $c "inside\\n"; close $c }'`,
  ]);
  await until('it listens', () => server.said.stdout.includes('open'));
  const said = await kit.run('ssh', [...options(), '-W', 'localhost:7070', USER]);
  t.is(said.stdout, 'inside\n');
  server.kill();
});

/** Answers each request with what it was asked and told, and sends back what comes over a WebSocket. */
const NOTEBOOK = `#!/usr/bin/perl
use IO::Socket::INET;
my ($port) = map { /^--port=(.*)/ ? $1 : () } @ARGV;
my $s = IO::Socket::INET->new(Listen => 20, LocalAddr => "127.0.0.1:$port", ReuseAddr => 1) or die;
$SIG{CHLD} = 'IGNORE';
while (my $c = $s->accept) {
  next if fork;
  my $head = '';
  while (my $line = <$c>) { $head .= $line; last if $line eq "\\r\\n" }
  if ($head =~ /^upgrade:/im) {
    print $c "HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nX-Args: @ARGV\\r\\n\\r\\n";
    $c->flush; while (sysread($c, my $part, 4096)) { syswrite($c, $part) }
  } else {
    my $body = "$head@ARGV\\n";
    print $c "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: " . length($body) . "\\r\\n\\r\\n$body";
  }
  exit;
}
`;

const TOOLS = `${AT}/tools`;
const AT_TOOL = '/tools/bootstrap/default/desk/jupyter/';

serial('a link opens a tool once, and its cookie lets a browser use it as long as the Workspace runs', async (t) => {
  const client = service.client();
  const ask = (at: string, headers: Record<string, string> = {}) =>
    fetch(new URL(at, service.url), { headers, redirect: 'manual' });
  // The image is this machine's own system, which may have it.
  for (const [tool, words] of [
    ['jupyter', ['jupyter-lab', 'jupyter-notebook', 'jupyter-server', 'jupyter']],
    ['vscode', ['code-server', 'openvscode-server']],
  ] as const) {
    if (words.some((word) => existsSync(`/usr/bin/${word}`))) continue;
    const none = await client.post(`${TOOLS}/${tool}/links`, {});
    t.is(none.status, 409);
    t.is(textAt(none.body, 'reason'), 'WorkspaceToolUnavailable');
  }
  t.is((await client.ask('POST', `${TOOLS}/jupyter/links`, { key: null })).status, 401);

  t.is((await ssh('mkdir -p bin && cat >bin/jupyter-lab && chmod 755 bin/jupyter-lab', NOTEBOOK)).code, 0);
  const made = await client.post(`${TOOLS}/jupyter/links`, {});
  t.is(made.status, 201, made.text);
  const link = textAt(made.body, 'url');
  t.true(link.startsWith(`${service.url}${AT_TOOL}?link=`), link);
  t.is((await ask(AT_TOOL)).status, 401);

  const opened = await ask(link);
  t.is(opened.status, 303);
  t.is(opened.headers.get('location'), AT_TOOL);
  const given = opened.headers.get('set-cookie') ?? '';
  t.regex(given, /; Path=\/tools\/bootstrap\/default\/desk\/jupyter\/; .*HttpOnly; SameSite=Lax/);
  t.is((await ask(link)).status, 401, 'once');
  const cookie = given.split(';')[0] ?? '';
  const page = await ask(`${AT_TOOL}lab?a=b`, { cookie: `${cookie}; theirs=1` });
  const seen = await page.text();
  t.is(page.status, 200, seen);
  t.regex(seen, /^GET \/tools\/bootstrap\/default\/desk\/jupyter\/lab\?a=b HTTP/);
  t.regex(seen, /--ServerApp.base_url=\/tools\/bootstrap\/default\/desk\/jupyter\//);
  t.regex(seen, /^cookie: theirs=1\r$/im, 'ours stays outside');

  for (const foreign of [
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    { referer: `${service.url}/tools/bootstrap/default/other/jupyter/` },
  ] as Record<string, string>[]) {
    t.is((await ask(AT_TOOL, { cookie, ...foreign })).status, 403, JSON.stringify(foreign));
  }
  t.is((await ask(AT_TOOL.replace('jupyter', 'vscode'), { cookie })).status, 401, 'no other tool');

  const echo = request(new URL(`${AT_TOOL}api/kernels`, service.url), {
    headers: { cookie, connection: 'Upgrade', upgrade: 'websocket', origin: service.url },
  });
  echo.end();
  const [answer, socket] = (await once(echo, 'upgrade')) as [IncomingMessage, Socket];
  t.is(answer.statusCode, 101);
  socket.write('there and back');
  const [back] = (await once(socket, 'data')) as [Buffer];
  t.is(back.toString(), 'there and back');
  socket.destroy();

  const sshLink = await client.post(`${TOOLS}/ssh/links`, {});
  t.is(textAt(sshLink.body, 'url'), `ssh://desk.default@127.0.0.1:${port}`);
  await ssh('printf "#!/bin/sh\nexit 1\n" >bin/code-server; chmod 755 bin/code-server');
  const broken = await ask(textAt((await client.post(`${TOOLS}/vscode/links`, {})).body, 'url'));
  const fails = await ask(broken.headers.get('location') ?? '', {
    cookie: (broken.headers.get('set-cookie') ?? '').split(';')[0] ?? '',
  });
  t.is(fails.status, 409);
  t.regex(await fails.text(), /WorkspaceToolUnavailable.*\/tmp\/\.svc-vscode\.log/s);
  visit = cookie;
});

let visit = '';

serial('a key that is taken away ends its session, and a Workspace that stops ends all of them', async (t) => {
  await set(t, { sshKeys: [await kit.publicKey('mine'), await kit.publicKey('second')] });
  const [first, second] = [kit.begin('ssh', [...options(), USER, 'echo in; sleep 60']), 'second'];
  const other = kit.begin('ssh', [...options(second), USER, 'echo in; sleep 60']);
  await until('both are inside', () => first.said.stdout.includes('in') && other.said.stdout.includes('in'));
  const began = performance.now();
  await set(t, { sshKeys: [await kit.publicKey('second')] });
  t.is((await first.ended).code, 255);
  t.true(performance.now() - began < 5_000, 'at once');
  t.regex(first.said.stderr, /this key does not open Workspace "desk" any more/);
  t.is(other.exitCode, null, 'the other goes on');

  await set(t, { state: 'Stopped' });
  t.is((await other.ended).code, 255);
  t.regex(other.said.stderr, /Workspace "desk" is Stop/);
  await phase('Stopped');
  const page = await fetch(new URL(AT_TOOL, service.url), { headers: { cookie: visit } });
  t.is(page.status, 409, 'nor does a visit come to what starts next');
  const late = await kit.run('ssh', [...options(second), USER, 'true']);
  t.regex(late.stderr, /Workspace "desk" is Stopped; set its spec.state to Running/);
});

serial(
  'the keys of members open a Workspace that names none, and the host key is the same after a restart',
  async (t) => {
    const members = path('members', '');
    const named = { email: 'dev@example.org', role: 'Developer', sshKeys: [await kit.publicKey('mine')] };
    t.is((await service.client().post(members, objectOf('Member', 'dev', named))).status, 201);
    service.signal('SIGTERM');
    await until('it has ended', () => !service.alive());
    await service.start();
    await set(t, { state: 'Running', sshKeys: [] });
    const running = await phase('Running');
    t.is(numberAt(running, 'status', 'attempt', 'epoch'), 2);
    t.is(textAt(running, 'status', 'connect', 'ssh', 'hostKey'), hostKey);
    t.is((await ssh('echo hello')).stdout, 'hello\n');

    const client = kit.begin('ssh', [...options(), USER, 'echo in; sleep 60']);
    await until('it is inside', () => client.said.stdout.includes('in'));
    t.is((await service.client().remove(`${members}/dev`)).status, 200);
    t.is((await client.ended).code, 255);
  },
);
