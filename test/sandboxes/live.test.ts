/**
 * What is alive inside a Sandbox, from outside, against a whole service: a terminal, detached processes, ports. One Sandbox for all of it; the
 * tests run one after another.
 */
import { request } from 'node:http';
import { connect as connectTls } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { listAt, numberAt, objectOf, path, textAt, valueAt, type Answer } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { shareKilled } from './killed.js';
import { SANDBOXES, sandboxesAt, type Sandboxes } from './sandboxes.js';

let boxes: Sandboxes;
let begun: Promise<unknown> | undefined;

test.before(async (t) => {
  t.timeout(120_000);
  boxes = sandboxesAt(await shareKilled());
});
test.after.always(() => boxes?.service.close());

async function make(): Promise<void> {
  // More than other tests give: on a fiftieth of a core each answer of a port takes a tenth of a second.
  await boxes.post('box', { resources: { cpu: '500m', memory: '256Mi', disk: '64Mi' } });
  await boxes.phase('box', 'Running');
}

function withBox(title: string, body: (t: ExecutionContext) => Promise<void>): void {
  test.serial(title, async (t) => {
    begun ??= make();
    await begun;
    await body(t);
  });
}

function bearer(): { readonly authorization: string } {
  return { authorization: `Bearer ${boxes.client().key}` };
}

interface Terminal {
  readonly socket: WebSocket;
  readonly text: () => string;
  type(text: string): void;
  until(pattern: RegExp): Promise<void>;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

async function terminal(name: string, query: string, headers = bearer()): Promise<Terminal> {
  const url = new URL(`${SANDBOXES}/${name}/terminal${query}`, boxes.service.url);
  url.protocol = 'ws:';
  const socket = new WebSocket(url, { headers });
  let text = '';
  socket.on('message', (data) => (text += (data as Buffer).toString()));
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return {
    socket,
    text: () => text,
    type: (typed) => socket.send(Buffer.from(typed)),
    async until(pattern) {
      await until('the terminal shows it', () => {
        if (!pattern.test(text)) throw new Error(`${pattern.source} is not in ${JSON.stringify(text.slice(-2_000))}`);
        return true;
      });
    },
    closed,
  };
}

function sh(script: string): string {
  return ['sh', '-c', script].map((word) => `command=${encodeURIComponent(word)}`).join('&');
}

withBox('a terminal is one: it has a size, echoes, takes Ctrl-C, and its close has the exit code', async (t) => {
  const shell = await terminal('box', '?cols=100&rows=30&command=/bin/sh');
  shell.type('stty size; tty; echo $TERM\n');
  await shell.until(/30 100\r\n\/dev\/\S+\r\nxterm-256color\r\n/);
  shell.socket.send(JSON.stringify({ resize: { cols: 132, rows: 50 } }));
  shell.type('stty size\n');
  await shell.until(/50 132\r\n/);
  shell.type('sleep 600; echo "after $?"\n');
  await shell.until(/after \$\?/);
  shell.type('\x03');
  shell.type('echo still here\n');
  await shell.until(/(?<!echo )still here\r\n/);
  shell.type('exit 7\n');
  t.deepEqual(await shell.closed, { code: 1000, reason: '{"exitCode":7}' });
  const login = await terminal('box', '');
  login.type('echo "shell $0"; exit\n');
  await login.until(/shell \S*(?:ba)?sh\r\n/);
  t.is((await login.closed).code, 1000);
});

withBox('a terminal floods no one, and its program ends with its connection', async (t) => {
  const shell = await terminal('box', `?${sh('echo $$ > /tmp/pid; exec yes')}`);
  await shell.until(/y\r\ny\r\n/);
  shell.socket.pause();
  const echoed = await run('box', 'echo alive');
  t.is(textAt(echoed.body, 'stdout'), 'alive\n');
  shell.socket.terminate();
  await until('its program has ended', async () => {
    const { body } = await run('box', 'kill -0 $(cat /tmp/pid) 2>/dev/null && echo there || echo gone');
    return textAt(body, 'stdout') === 'gone\n';
  });
  const missing = await terminal('box', '?command=/no/such/program');
  const { code, reason } = await missing.closed;
  t.is(code, 4422);
  t.regex(reason, /CommandNotFound/);
});

function run(name: string, script: string): Promise<Answer> {
  return boxes.client().post(`${SANDBOXES}/${name}/exec`, { command: ['sh', '-c', script] });
}

async function start(name: string, script: string, more: object = {}): Promise<string> {
  const answer = await boxes
    .client()
    .post(`${SANDBOXES}/${name}/processes`, { command: ['sh', '-c', script], ...more });
  if (answer.status !== 201) throw new Error(answer.text);
  return textAt(answer.body, 'id');
}

function frames(text: string): readonly unknown[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

withBox('a detached process takes input, is read while it runs and after, and can be signalled', async (t) => {
  const at = `${SANDBOXES}/box/processes`;
  const client = boxes.client();
  const id = await start('box', 'echo "$MORE"; while read -r line; do echo "got $line"; done; echo over >&2; exit 5', {
    env: { MORE: 'begun' },
  });
  const output = client.get(`${at}/${id}/output?follow=true`);
  const send = (raw: string, query = ''): Promise<Answer> =>
    client.ask('POST', `${at}/${id}/stdin${query}`, { raw, contentType: 'application/octet-stream' });
  t.is(numberAt((await send('one\n')).body, 'written'), 4);
  t.is((await send('two\n', '?end=true')).status, 200);
  const said = frames((await output).text);
  // What is written to one stream stays in order; two of them have none between them.
  const lines = (stream: string): string =>
    said.map((frame) => (textAt(frame, 'stream') === stream ? textAt(frame, 'data') : '')).join('');
  t.is(lines('stdout'), 'begun\ngot one\ngot two\n');
  t.is(lines('stderr'), 'over\n');
  t.is(numberAt(said.at(-1), 'exitCode'), 5);
  const again = frames((await client.get(`${at}/${id}/output`)).text);
  t.deepEqual(again, said);
  t.is((await send('late')).status, 409);

  const whole = await start('box', 'cat', { stdin: 'all of it' });
  const echoed = frames((await client.get(`${at}/${whole}/output?follow=true`)).text);
  t.is(textAt(echoed[0], 'data'), 'all of it');

  const sleeper = await start('box', 'trap "echo caught; exit 3" USR1; echo ready; while :; do sleep 0.05; done');
  await until('it is ready', async () => (await client.get(`${at}/${sleeper}/output`)).text.includes('ready'));
  t.is((await client.post(`${at}/${sleeper}/signals`, { signal: 'SIGUSR1' })).status, 200);
  await until('it has ended', async () => {
    const { body } = await client.get(`${at}/${sleeper}`);
    return numberAt(body, 'exitCode') === 3;
  });
  t.is((await client.post(`${at}/${sleeper}/signals`, { signal: 'SIGTERM' })).status, 409);
  const ids = listAt((await client.get(at)).body, 'items').map((item) => textAt(item, 'id'));
  for (const known of [id, whole, sleeper]) t.true(ids.includes(known));

  const deaf = await start('box', 'exec sleep 600');
  const full = await until('it is full', async () => {
    const answer = await client.ask('POST', `${at}/${deaf}/stdin`, {
      raw: Buffer.alloc(1024 * 1024),
      contentType: 'application/octet-stream',
    });
    return answer.status === 200 ? undefined : answer;
  });
  t.is(full.status, 429, full.text);
  t.is(textAt(full.body, 'reason'), 'StdinBackpressure');
  await client.post(`${at}/${deaf}/signals`, { signal: 'SIGKILL' });
  const killed = await until('it is killed', async () => {
    const { body } = await client.get(`${at}/${deaf}`);
    return valueAt(body, 'running') === false ? body : undefined;
  });
  t.is(numberAt(killed, 'signal'), 9);
});

/** As much of HTTP as a program in a box has without any package; `/ws` echoes after a 101. */
const SERVER = `
use strict; use IO::Socket::INET; $| = 1; $SIG{CHLD} = 'IGNORE';
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 8000, Listen => 64, ReuseAddr => 1) or die $!;
print "listening\\n";
while (my $client = $server->accept) {
  if (fork) { close $client; next }
  my ($head, $byte) = ('', '');
  while ($head !~ /\\r\\n\\r\\n$/ && sysread($client, $byte, 1)) { $head .= $byte }
  if ($head =~ m{^GET /ws}) {
    syswrite $client, "HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n";
    while (sysread($client, my $data, 65536)) { syswrite $client, $data }
    exit;
  }
  my $left = $head =~ /content-length: (\\d+)/i ? $1 : 0;
  my $body = '';
  while ($left > 0 && (my $n = sysread($client, $body, $left, length $body))) { $left -= $n }
  my $said = $head =~ m{^GET /big} ? 'x' x (4 * 1024 * 1024) : "$head$body";
  syswrite $client, "HTTP/1.1 200 OK\\r\\nContent-Length: " . length($said) . "\\r\\nConnection: close\\r\\n\\r\\n";
  my $sent = 0;
  while ($sent < length $said) { my $n = syswrite($client, $said, length($said) - $sent, $sent) or last; $sent += $n }
  exit;
}`;

withBox('a port inside answers HTTP and whatever it upgrades to, and one that nobody listens on says so', async (t) => {
  const client = boxes.client();
  const at = `${SANDBOXES}/box`;
  const refused = await client.get(`${at}/ports/8000/`);
  t.is(refused.status, 503, refused.text);
  t.regex(textAt(refused.body, 'message'), /port 8000/);
  const started = await client.post(`${at}/processes`, { command: ['perl', '-e', SERVER] });
  t.is(started.status, 201, started.text);
  const answer = await until('it answers', async () => {
    const got = await client.ask('POST', `${at}/ports/8000/a%2Fb?c=d`, { raw: 'sent', contentType: 'text/plain' });
    return got.status === 200 ? got : undefined;
  });
  t.regex(answer.text, /^POST \/a%2Fb\?c=d HTTP\/1.1\r\n[^]*\r\n\r\nsent$/);
  t.notRegex(answer.text, /authorization/i);
  t.is((await client.get(`${at}/ports/8000/big`)).text.length, 4 * 1024 * 1024);
  const many = await Promise.all(Array.from({ length: 8 }, () => client.get(`${at}/ports/8000/`)));
  t.true(many.every(({ status }) => status === 200));

  const { hostname, port } = new URL(boxes.service.tlsUrl);
  const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false });
  let said = '';
  socket.on('data', (data: Buffer) => (said += data.toString()));
  const head = [
    `GET ${at}/ports/8000/ws HTTP/1.1`,
    'Host: test',
    `Authorization: ${bearer().authorization}`,
    'Connection: Upgrade',
    'Upgrade: echo',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await until('it is upgraded', () => said.startsWith('HTTP/1.1 101 '));
  socket.write('over TLS, too');
  await until('it echoes', () => said.endsWith('over TLS, too'));
  socket.destroy();

  // A client of HTTP/2 asks with its first request; over TLS, too, it is served as if it had not.
  const plain = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false });
  let version = '';
  plain.on('data', (data: Buffer) => (version += data.toString()));
  plain.write('GET /version HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
  await until('it is answered', () => version.startsWith('HTTP/1.1 200 ') && version.includes('gitVersion'));
  plain.destroy();
});

withBox(
  'a detached process goes on over a death of the service, keeps the Sandbox busy, and ends with its epoch',
  async (t) => {
    const client = (): ReturnType<Sandboxes['client']> => boxes.client();
    const id = await start('box', 'while :; do echo beat; sleep 0.2; done');
    const busy = (box: unknown): boolean => textAt(box, 'status', 'activity') === 'Busy';
    await boxes.once('box', 'is busy', busy);
    await boxes.service.kill();
    await boxes.service.start();
    const { body } = await until('it is there', async () => {
      const answer = await client().get(`${SANDBOXES}/box/processes/${id}`);
      return answer.status === 200 ? answer : undefined;
    });
    t.is(valueAt(body, 'running'), true);
    await boxes.once('box', 'is busy', busy);
    const before = frames((await client().get(`${SANDBOXES}/box/processes/${id}/output`)).text).length;
    await until('it beats on', async () => {
      const now = frames((await client().get(`${SANDBOXES}/box/processes/${id}/output`)).text);
      return now.length > before;
    });
    const open = await terminal('box', '?command=cat');
    await boxes.patch('box', { spec: { state: 'Stopped' } });
    const closed = await open.closed;
    t.is(closed.code, 4409);
    t.regex(closed.reason, /SandboxNotRunning/);
    await boxes.phase('box', 'Stopped');
    await boxes.patch('box', { spec: { state: 'Running' } });
    await boxes.phase('box', 'Running', 2);
    const late = await client().get(`${SANDBOXES}/box/processes/${id}`);
    t.is(late.status, 409, late.text);
    t.is(textAt(late.body, 'reason'), 'SandboxNotRunning');
    t.is(numberAt(late.body, 'details', 'epoch'), 2);
    t.deepEqual(listAt((await client().get(`${SANDBOXES}/box/processes`)).body, 'items'), []);
    t.is((await client().get(`${SANDBOXES}/box/ports/8000/`)).status, 503);
  },
);

withBox('what a killed service has left of an upload is neither listed nor packed nor saved', async (t) => {
  const inside = async (script: string): Promise<string> =>
    textAt((await boxes.client().post(`${SANDBOXES}/box/exec`, { command: ['sh', '-c', script] })).body, 'stdout');
  const read = (route: string): Promise<Answer> => boxes.client().get(`${SANDBOXES}/box/${route}path=/workspace/up`);
  await inside(
    'mkdir -p /workspace/up; echo mine >/workspace/up/.svc-upload-mine; rm -rf /workspace/up/.svc-upload-0*',
  );
  const upload = request(`${boxes.service.url}${SANDBOXES}/box/files?path=/workspace/up/file`, {
    method: 'PUT',
    headers: { ...bearer(), 'content-length': 8_000_000 },
  });
  upload.on('error', () => undefined);
  upload.write(Buffer.alloc(3_000_000, 'x'));
  const temporary = await until('the upload has begun', async () => {
    const found = (await inside('ls -A /workspace/up'))
      .split('\n')
      .find((name) => /^\.svc-upload-[0-9a-f]{8}-/.test(name));
    return found ?? false;
  });
  await boxes.service.kill();
  await boxes.service.start();
  upload.destroy();
  t.true((await inside('ls -A /workspace/up')).includes(temporary), 'nobody has taken it away');
  const entries = listAt((await read('files?list=true&')).body, 'items');
  t.deepEqual(
    entries.map((entry) => textAt(entry, 'name')),
    ['.svc-upload-mine'],
  );
  const archive = (await read('files/archive?')).text;
  t.deepEqual([archive.includes('.svc-upload-mine'), archive.includes(temporary)], [true, false]);
  const before = numberAt(await boxes.get('box'), 'status', 'attempt', 'epoch');
  await boxes.patch('box', { spec: { state: 'Stopped' } });
  await boxes.phase('box', 'Stopped');
  await boxes.patch('box', { spec: { state: 'Running' } });
  await boxes.phase('box', 'Running', before + 1);
  t.is(await inside('ls -A /workspace/up'), '.svc-upload-mine\n');
});

withBox('a key that is deleted ends its terminal, and nothing that is typed afterwards runs', async (t) => {
  const owner = boxes.client();
  const made = await owner.post(path('apikeys', ''), objectOf('APIKey', 'passing', {}));
  const shell = await terminal('box', '?command=/bin/sh', {
    authorization: `Bearer ${textAt(made.body, 'status', 'key')}`,
  });
  shell.type('echo $((20+22))\n');
  await shell.until(/42/);
  t.is((await owner.remove(`${path('apikeys', '')}/passing`)).status, 200);
  shell.type('touch /tmp/afterwards\n');
  t.is((await shell.closed).code, 4401);
  const looked = await owner.post(`${SANDBOXES}/box/exec`, { command: ['ls', '/tmp'] });
  t.false(textAt(looked.body, 'stdout').includes('afterwards'), looked.text);
});

withBox('metrics tell the work, the machine and the process, in base units', async (t) => {
  const at = new URL('/metrics', boxes.service.url);
  const names = [
    /^troupe_attempt_queue_seconds_count\{owner="Sandbox"\} [1-9]/m,
    /^troupe_attempt_start_seconds_count\{owner="Sandbox"\} [1-9]/m,
    /^troupe_objects_active\{kind="Sandbox",phase="Running"\} [1-9]/m,
    /^troupe_objects_active\{kind="Attempt",phase="Running"\} [1-9]/m,
    /^troupe_node_allocatable\{resource="memory"\} [1-9]/m,
    /^troupe_node_allocated\{resource="cpu"\} 0\.[1-9]/m,
    /^troupe_attempts_waiting 0$/m,
    /^troupe_leader 1$/m,
    /^troupe_build_info\{version="v[0-9.]+",node="v[0-9.]+"\} 1$/m,
    /^troupe_database_connections [1-9]/m,
    /^process_cpu_seconds_total /m,
    /^nodejs_eventloop_lag_seconds /m,
  ];
  await until(
    'all of them are there',
    async () => {
      const said = await (await fetch(at)).text();
      const missing = names.filter((name) => !name.test(said));
      if (missing.length > 0) throw new Error(`${missing.join()} in ${said.replace(/^#.*\n/gm, '').slice(0, 6_000)}`);
      t.notRegex(said, /^troupe_\w+_(ms|milliseconds)\b/m);
      return true;
    },
    40_000,
  );
  // Of those who share the service none is to meet it.
  await boxes.client().remove(`${SANDBOXES}/box`);
  await boxes.gone('box');
});
