/** The SSH server with OpenSSH's own clients: what goes through it, what is refused, and what it survives. */
import test from 'ava';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import ssh2, { type ClientChannel } from 'ssh2';
import { openSshServer, type SshServer } from '../../http/ssh/server.js';
import { newSshKey } from '../../src/app/ssh-key.js';
import { until } from '../e2e/until.js';
import { HOST_KEY, openSshFixture, type SshFixture } from './ssh-fixture.js';
import { missingSftpServer, missingSsh, openSshKit, type SshKit } from './ssh.js';

const withSsh = missingSsh === undefined ? test : test.skip;
const withSftp = missingSsh === undefined && missingSftpServer === undefined ? test : test.skip;

const SILENT = { info: () => undefined, warn: () => undefined };

let kit: SshKit;
let fixture: SshFixture;
let server: SshServer;

const openServer = (bounds = {}): Promise<SshServer> => {
  const { authorization, inside } = fixture;
  return openSshServer({ host: '127.0.0.1', port: 0, hostKey: HOST_KEY, authorization, inside, log: SILENT, bounds });
};

test.before(async () => {
  kit = await openSshKit();
  fixture = openSshFixture();
  fixture.keys.set('dev', [await kit.publicKey('mine')]);
  server = await openServer();
});
test.after.always(async () => {
  await server.close();
  await kit.close();
});

const ssh = (...args: readonly string[]) =>
  kit.run('ssh', [...kit.options(server.port, 'mine'), 'dev@127.0.0.1', ...args]);

withSsh('a command gets its input, and its output, errors and exit code come back', async (t) => {
  const said = await kit.run(
    'ssh',
    [...kit.options(server.port, 'mine'), 'dev@127.0.0.1', 'cat; echo oops >&2; exit 7'],
    'hello',
  );
  t.deepEqual(said, { code: 7, stdout: 'hello', stderr: 'oops\n' });
  t.is((await ssh('kill -TERM $$')).code, 143);
});

withSsh('many bytes pass both ways whole', async (t) => {
  const sent = randomBytes(12 * 2 ** 20);
  const said = await kit.run('ssh', [...kit.options(server.port, 'mine'), 'dev@127.0.0.1', 'cat'], sent);
  t.true(Buffer.from(said.stdout, 'latin1').equals(sent));
});

withSsh('one who does not read, and a program that does not, stop the other side and not the service', async (t) => {
  const reader = kit.begin('ssh', [...kit.options(server.port, 'mine'), 'dev@127.0.0.1', 'yes']);
  reader.stdout?.pause();
  const writer = kit.begin('ssh', [...kit.options(server.port, 'mine'), 'dev@127.0.0.1', 'sleep 60']);
  writer.stdin?.write(Buffer.alloc(32 * 2 ** 20));
  const stands = (line: string, way: 'in' | 'out'): Promise<number> => {
    let last = -1;
    return until(`${line} stands still`, () => {
      const now = fixture.passed.get(line)?.[way] ?? 0;
      const still = now > 0 && now === last;
      last = now;
      return still ? now : undefined;
    });
  };
  t.true((await stands('yes', 'out')) < 12 * 2 ** 20);
  t.true((await stands('sleep 60', 'in')) < 4 * 2 ** 20);
  reader.kill('SIGKILL');
  writer.kill('SIGKILL');
});

withSsh('only the words of a locale come with a command, and the size of a terminal', async (t) => {
  const client = kit.begin('ssh', [
    ...kit.options(server.port, 'mine'),
    ...['-tt', '-o', 'SetEnv=LC_ALL=C.UTF-8 LD_PRELOAD=/tmp/x.so'],
    ...['dev@127.0.0.1', 'sleep 30'],
  ]);
  const order = await until('it is started', () => fixture.started.find(({ terminal }) => terminal !== undefined));
  t.is(order.env['LC_ALL'], 'C.UTF-8');
  t.is(order.env['LD_PRELOAD'], undefined);
  t.truthy(order.env['TERM']);
  t.true((order.terminal?.columns ?? 0) > 0);
  client.kill();
});

withSsh('another key, another name and a password are refused', async (t) => {
  for (const [user, key] of [
    ['dev', 'other'],
    ['nobody', 'mine'],
    ['dev.default+o-1', 'mine'],
  ] as const) {
    const said = await kit.run('ssh', [...kit.options(server.port, key), `${user}@127.0.0.1`, 'true']);
    t.is(said.code, 255);
    t.regex(said.stderr, /Permission denied \(publickey\)/);
  }
});

withSftp('scp and sftp bring files there and back', async (t) => {
  const bytes = randomBytes(300_000);
  const [from, there, back, again] = ['from', 'there', 'back', 'again'].map((name) => join(kit.dir, name));
  await writeFile(from ?? '', bytes);
  const options = kit.options(server.port, 'mine');
  t.is((await kit.run('scp', [...options, from ?? '', `dev@127.0.0.1:${there}`])).code, 0);
  t.is((await kit.run('scp', ['-O', ...options, `dev@127.0.0.1:${there}`, back ?? ''])).code, 0);
  const batch = `get ${there} ${again}\n`;
  t.is((await kit.run('sftp', [...options, '-b', '-', 'dev@127.0.0.1'], batch)).code, 0);
  for (const file of [back, again]) t.true((await readFile(file ?? '')).equals(bytes));
});

withSsh('a port inside is reached through the server, and one elsewhere is not', async (t) => {
  const inner = createServer({ allowHalfOpen: true }, (socket) => {
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
    socket.once('end', () => socket.end(`heard ${heard}`));
  }).listen(0, '127.0.0.1');
  await once(inner, 'listening');
  const { port } = inner.address() as AddressInfo;
  t.teardown(() => inner.close());
  const through = (to: string, input: string) =>
    kit.run('ssh', [...kit.options(server.port, 'mine'), '-W', to, 'dev@127.0.0.1'], input);
  const answered = await through(`localhost:${port}`, 'ping');
  t.is(answered.stdout, 'heard ping', 'what one side has ended the other still answers');
  t.not((await through('10.0.0.1:80', '')).code, 0);
  t.not((await through('127.0.0.1:1', '')).code, 0);
});

withSsh('reverse forwards, agents and a second host name are refused and the connection goes on', async (t) => {
  const said = await kit.run('ssh', [
    ...kit.options(server.port, 'mine'),
    ...['-R', '0:127.0.0.1:22', '-A', 'dev@127.0.0.1', 'echo "agent=$SSH_AUTH_SOCK"'],
  ]);
  t.is(said.stdout, 'agent=\n');
  const forced = await kit.run('ssh', [
    ...kit.options(server.port, 'mine'),
    ...['-o', 'ExitOnForwardFailure=yes', '-N', '-R', '0:127.0.0.1:22', 'dev@127.0.0.1'],
  ]);
  t.not(forced.code, 0);
});

withSsh('a key that is taken away ends what it has opened, and says so', async (t) => {
  fixture.keys.set('gone', [await kit.publicKey('mine')]);
  const client = kit.begin('ssh', [...kit.options(server.port, 'mine'), 'gone@127.0.0.1', 'echo in; sleep 60']);
  await until('it is inside', () => client.said.stdout.includes('in'));
  t.true(fixture.staying > 0, 'it counts as activity');
  fixture.keys.set('gone', []);
  server.changed({ org: 'bootstrap', kind: 'Workspace', project: 'default', name: 'gone' });
  t.is((await client.ended).code, 255);
  t.regex(client.said.stderr, /the key has gone/);
});

withSsh(
  'a key that is taken away without a word about it is found out, and one that nobody can judge ends as well',
  async (t) => {
    const watchful = await openServer({ checkMs: 50, unverifiedMs: 100 });
    t.teardown(() => watchful.close());
    for (const user of ['unheard', 'unjudged']) fixture.keys.set(user, [await kit.publicKey('mine')]);
    const [unheard, unjudged] = ['unheard', 'unjudged'].map((user) =>
      kit.begin('ssh', [...kit.options(watchful.port, 'mine'), `${user}@127.0.0.1`, 'echo in; sleep 60']),
    );
    for (const client of [unheard, unjudged]) await until('it is inside', () => client?.said.stdout.includes('in'));
    fixture.keys.set('unheard', []);
    fixture.unjudged = 'unjudged';
    t.teardown(() => (fixture.unjudged = undefined));
    t.is((await unheard?.ended)?.code, 255);
    t.regex(unheard?.said.stderr ?? '', /the key has gone/);
    t.is((await unjudged?.ended)?.code, 255);
    t.regex(unjudged?.said.stderr ?? '', /could not be verified/);
  },
);

test.serial('garbage, silence and too many do not reach beyond their own connections', async (t) => {
  const small = await openServer({ loginMs: 700, connectionsPerAddress: 3 });
  t.teardown(() => small.close());
  const knock = async (text: string | Uint8Array): Promise<Socket> => {
    const socket = connect(small.port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(text);
    socket.resume();
    return socket;
  };
  const strange = [
    'GET / HTTP/1.1\r\n\r\n',
    randomBytes(5_000),
    `SSH-2.0-${'x'.repeat(400)}\r\n`,
    Buffer.concat([Buffer.from('SSH-2.0-x\r\n'), randomBytes(70_000)]),
    Buffer.concat([Buffer.from('SSH-2.0-x\r\n'), Buffer.alloc(40_000, 0xff)]),
    'SSH-1.0-old\r\n',
    '',
  ];
  for (const text of strange) {
    const socket = await knock(text);
    await until('it is closed', () => socket.closed);
  }
  const quiet = await Promise.all([knock(''), knock(''), knock('')]);
  const fourth = await knock('');
  await until('it is closed', () => fourth.closed);
  t.true(
    quiet.every(({ closed }) => !closed),
    'those who came before may still say who they are',
  );
  await Promise.all(quiet.filter(({ closed }) => !closed).map((socket) => once(socket, 'close')));
  if (missingSsh !== undefined) return;
  const said = await kit.run('ssh', [...kit.options(small.port, 'mine'), 'dev@127.0.0.1', 'echo still here']);
  t.is(said.stdout, 'still here\n');
});

/** A packet before any keys. Source: RFC 4253, 6. */
function packet(payload: Buffer): Buffer {
  const padding = 8 - ((payload.length + 5) % 8) + 8;
  const head = Buffer.alloc(5);
  head.writeUInt32BE(payload.length + padding + 1);
  head[4] = padding;
  return Buffer.concat([head, payload, Buffer.alloc(padding)]);
}

/** The first message of a client that has this way to exchange keys alone. */
function kexInit(algorithm: string): Buffer {
  const lists = [algorithm, 'ssh-ed25519', ...Array<string>(2).fill('aes128-gcm@openssh.com')];
  lists.push(...Array<string>(2).fill('hmac-sha2-256'), 'none', 'none', '', '');
  const names = lists.map((list) => {
    const text = Buffer.from(`    ${list}`);
    text.writeUInt32BE(list.length);
    return text;
  });
  return packet(Buffer.concat([Buffer.from([20]), Buffer.alloc(16), ...names, Buffer.alloc(5)]));
}

const IDENT = 'SSH-2.0-x\r\n';

test('a client that has only expensive ways to exchange keys is told so, and one that asks for them by name learns what there is', async (t) => {
  for (const algorithm of [
    'diffie-hellman-group18-sha512',
    'diffie-hellman-group-exchange-sha256',
    'ecdh-sha2-nistp521',
  ]) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(Buffer.concat([Buffer.from(IDENT), kexInit(algorithm)]));
    let said = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => (said = Buffer.concat([said, chunk])));
    await once(socket, 'close');
    const offer = said.indexOf('curve25519-sha256');
    t.is(
      said
        .subarray(offer, offer + said.readUInt32BE(offer - 4))
        .toString()
        .replace(/,kex-strict-\S+/, ''),
      'curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256',
    );
    // The last packet: SSH_MSG_DISCONNECT, SSH_DISCONNECT_KEY_EXCHANGE_FAILED.
    const last = said.subarray(said.indexOf('\r\n') + 2);
    t.deepEqual([...last.subarray(4 + last.readUInt32BE(0)).subarray(5, 10)], [1, 0, 0, 0, 3], algorithm);
  }
  if (missingSsh !== undefined) return;
  const by = (algorithm: string) =>
    kit.run('ssh', [
      '-o',
      'LogLevel=INFO',
      ...kit.options(server.port, 'mine'),
      '-o',
      `KexAlgorithms=${algorithm}`,
      'dev@127.0.0.1',
      'echo in',
    ]);
  const refused = await by('diffie-hellman-group18-sha512');
  t.is(refused.code, 255);
  t.regex(refused.stderr, /no matching key exchange method found\. Their offer: curve25519-sha256,/);
  for (const algorithm of ['curve25519-sha256', 'ecdh-sha2-nistp256'])
    t.is((await by(algorithm)).stdout, 'in\n', algorithm);
});

test('of one address few exchange keys at once, another has its turn meanwhile, and of one without end the rest is closed', async (t) => {
  const small = await openServer({ exchanges: 4, exchangeMs: 60_000, strangersPerAddress: 5 });
  t.teardown(() => small.close());
  const come = (localAddress: string) => {
    const socket = connect({ host: '127.0.0.1', port: small.port, localAddress });
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined);
    const said = { socket, heard: false };
    socket.on('data', () => (said.heard = true));
    return said;
  };
  const here = Array.from({ length: 5 }, () => come('127.0.0.1'));
  const heard = (): number => here.filter((one) => one.heard).length;
  await until('half of the places are taken', () => heard() === 2);
  const sixth = come('127.0.0.1');
  await until('it is closed', () => sixth.socket.closed);
  const other = come('127.0.0.2');
  await until('another address has its turn', () => other.heard);
  t.is(heard(), 2);
  here.find((one) => one.heard)?.socket.destroy();
  await until('the next has its place', () => heard() === 3);
});

test('one who takes long to exchange keys keeps the next one waiting for a while only, and may go on', async (t) => {
  const small = await openServer({ exchanges: 2, exchangeMs: 50 });
  t.teardown(() => small.close());
  const slow = connect(small.port, '127.0.0.1');
  t.teardown(() => slow.destroy());
  slow.on('error', () => undefined);
  const next = connect(small.port, '127.0.0.1');
  t.teardown(() => next.destroy());
  await Promise.all([once(slow, 'data'), once(next, 'data')]);
  t.false(slow.closed);
});

/** A client of the library, of which a test may use what no honest client does. */
async function loggedIn(user: string, port: number): Promise<ssh2.Client> {
  const privateKey = newSshKey();
  const parsed = ssh2.utils.parseKey(privateKey);
  if (parsed instanceof Error) throw parsed;
  fixture.keys.set(user, [`${parsed.type} ${parsed.getPublicSSH().toString('base64')}`]);
  const client = new ssh2.Client();
  client.on('error', () => undefined);
  client.connect({ host: '127.0.0.1', port, username: user, privateKey });
  await once(client, 'ready');
  return client;
}

function command(client: ssh2.Client, line: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) =>
    client.exec(line, (error, channel) => (error ? reject(error) : resolve(channel))),
  );
}

test('more channels than a connection may have are refused, and bytes beyond the window end it', async (t) => {
  const small = await openServer({ channels: 2 });
  t.teardown(() => small.close());
  const client = await loggedIn('greedy', small.port);
  const open = (): Promise<ClientChannel> => command(client, 'sleep 61');
  const [channel] = await Promise.all([open(), open()]);
  await t.throwsAsync(open);
  const closed = once(client, 'close');
  // As no honest client does it: past what the library lets through.
  const protocol = Reflect.get(client, '_protocol') as { channelData(id: number, data: Buffer): void };
  const { id } = channel.outgoing as { readonly id: number };
  for (let piece = 0; piece < 320; piece += 1) protocol.channelData(id, Buffer.alloc(32_000));
  await closed;
});

test('a channel whose packets would be tiny is refused in words, and its connection goes on', async (t) => {
  const client = await loggedIn('tiny', server.port);
  t.teardown(() => void client.end());
  const protocol = Reflect.get(client, '_protocol') as Record<
    'session' | 'directTcpip',
    (channel: number, window: number, packet: number, more: unknown) => void
  >;
  const { session, directTcpip } = protocol;
  const ask = (bytes: number): void => {
    protocol.session = (channel, window, _packet, more) => session.call(protocol, channel, window, bytes, more);
    protocol.directTcpip = (channel, window, _packet, more) => directTcpip.call(protocol, channel, window, bytes, more);
  };
  const inner = createServer((socket) => socket.end('there')).listen(0, '127.0.0.1');
  await once(inner, 'listening');
  t.teardown(() => inner.close());
  const { port } = inner.address() as AddressInfo;
  const forwarded = (): Promise<ClientChannel> =>
    new Promise((resolve, reject) =>
      client.forwardOut('127.0.0.1', 1, '127.0.0.1', port, (error, channel) =>
        error ? reject(error) : resolve(channel),
      ),
    );
  for (const bytes of [4_095, 1_024, 1, 0]) {
    ask(bytes);
    for (const open of [() => command(client, 'head -c 100000 /dev/zero'), forwarded]) {
      const error = await t.throwsAsync(open, undefined, `${bytes}`);
      t.regex(error?.message ?? '', /packets of less than 4096 bytes are not sent/);
    }
  }
  ask(4_096);
  let length = 0;
  for await (const chunk of await command(client, 'head -c 100000 /dev/zero')) length += (chunk as Buffer).length;
  t.is(length, 100_000);
  t.is(Buffer.concat(await (await forwarded()).toArray()).toString(), 'there');
});

test('while keys are exchanged nothing is taken from programs, and an exchange without end ends its connection', async (t) => {
  const strict = await openServer({ rekeyMs: 1_000 });
  t.teardown(() => strict.close());
  const client = await loggedIn('rekeying', strict.port);
  const flood = await command(client, 'cat /dev/zero');
  let heard = 0;
  flood.on('data', ({ length }: Buffer) => (heard += length));
  await until('it has begun', () => heard > 0);
  // An honest one: what the program prints goes on afterwards.
  const protocol = Reflect.get(client, '_protocol') as { rekey(): void };
  for (let round = 0; round < 3; round += 1) {
    protocol.rekey();
    await once(client, 'handshake');
    const before = heard;
    await until('it goes on', () => heard > before + 2 ** 20);
  }
  // One that begins an exchange, takes all that comes, and never answers.
  const socket = Reflect.get(client, '_sock') as Socket;
  protocol.rekey();
  socket.removeAllListeners('data');
  let bytes = 0;
  socket.on('data', ({ length }: Buffer) => (bytes += length));
  const passed = (): number => fixture.passed.get('cat /dev/zero')?.out ?? 0;
  const ended = once(socket, 'close');
  let last = -1;
  const stood = await until('the program stands still', () => {
    const now = passed();
    const still = now === last;
    last = now;
    return still ? now : undefined;
  });
  await ended;
  // Some pieces were under way when it ended.
  t.true(passed() - stood < 2 ** 20, `${passed() - stood}`);
  t.true(bytes < 8 * 2 ** 20);
});

withSsh('a connection that is cut after any byte harms no other', async (t) => {
  // From the greeting over key exchange and login into a running command with much output.
  const cuts = [40, 1_500, 2_900, 3_700, 60_000];
  const relays = cuts.flatMap((cut) => (['up', 'down'] as const).map((way) => ({ cut, way })));
  await Promise.all(
    relays.map(async ({ cut, way }) => {
      const relay = createServer((outer) => {
        const inner = connect(server.port, '127.0.0.1');
        let left = cut;
        const count = (chunk: Buffer): void => {
          left -= chunk.length;
          if (left > 0) return;
          outer.destroy();
          inner.resetAndDestroy();
        };
        (way === 'up' ? outer : inner).on('data', count);
        for (const socket of [outer, inner]) socket.on('error', () => undefined);
        outer.pipe(inner).pipe(outer);
      }).listen(0, '127.0.0.1');
      await once(relay, 'listening');
      const { port } = relay.address() as AddressInfo;
      const args = [...kit.options(port, 'mine'), 'dev@127.0.0.1', 'head -c 1000000 /dev/zero; cat >/dev/null'];
      const said = await kit.run('ssh', args, Buffer.alloc(500_000));
      t.not(said.code, 0, `${way} ${cut}`);
      relay.close();
    }),
  );
  t.is((await ssh('echo fine')).stdout, 'fine\n');
});

test.serial('who comes while nothing runs is told so', async (t) => {
  if (missingSsh !== undefined) {
    t.pass();
    return;
  }
  fixture.epoch = undefined;
  const said = await ssh('true');
  fixture.epoch = 1;
  t.is(said.code, 255);
  t.regex(said.stderr, /nothing runs/);
});
