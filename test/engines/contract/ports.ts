/** Connections to what listens inside. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ContractCase } from './case.js';
import { box, type Harness } from '../compute-harness.js';

/** Serves each connection by a Perl expression in which it is `$c`. */
async function serve(h: Harness, work: string, port: number, act: string): Promise<void> {
  const program = `use IO::Socket::INET; $SIG{CHLD} = "IGNORE"; $| = 1;
    my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => ${port}, Listen => 50, ReuseAddr => 1) or die $!;
    print "up\\n"; while (my $c = $s->accept) { if (!fork) { close $s; ${act}; exit } close $c }`;
  const id = `server${port}`;
  const env = { PATH: '/usr/bin:/bin' };
  await h.engine.startProcess({ work, id, command: ['perl', '-e', program], env, workingDir: '/' }, h.patience());
  for await (const _ of h.engine.logs(work, { container: `process-${id}`, follow: true }, h.patience())) break;
}

async function connected(h: Harness, work: string, port: number, signal = h.patience()): Promise<Duplex> {
  const start = await h.engine.connect(work, port, signal);
  if (start.outcome !== 'Connected') throw new Error(start.outcome);
  return start.stream;
}

export const portCases: readonly ContractCase[] = [
  {
    name: 'ports: bytes go both ways, and each direction ends by itself',
    run: async (t, h) => {
      const work = await h.running(box());
      await serve(h, work.id, 8001, 'my $n = 0; while (read $c, my $d, 65536) { $n += length $d } print $c "got $n"');
      await serve(
        h,
        work.id,
        8002,
        'print $c "bye"; shutdown $c, 1; my $n = 0; while (read $c, my $d, 65536) { $n += length $d } print "$n\\n"',
      );
      await serve(h, work.id, 8003, 'while (sysread $c, my $d, 65536) { syswrite $c, $d }');
      const counted = await connected(h, work.id, 8001);
      counted.write('abc');
      counted.end('def');
      t.is(await text(counted), 'got 6');
      // It has said its last, and still hears.
      const heard = await connected(h, work.id, 8002);
      let bye = '';
      heard.on('data', (data: Buffer) => (bye += data.toString()));
      await once(heard, 'end');
      t.is(bye, 'bye');
      heard.end('123456789');
      for await (const { data } of h.engine.logs(
        work.id,
        { container: 'process-server8002', follow: true },
        h.patience(),
      )) {
        if (Buffer.from(data).toString() === '9\n') break;
      }
      const echo = await connected(h, work.id, 8003);
      const bytes = randomBytes(5_000_000);
      echo.end(bytes);
      const hash = createHash('sha256');
      for await (const chunk of echo) hash.update(chunk as Buffer);
      t.is(hash.digest('hex'), createHash('sha256').update(bytes).digest('hex'));
      const many = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const stream = await connected(h, work.id, 8003);
          stream.end(`line ${index}`);
          return text(stream);
        }),
      );
      t.deepEqual(
        many,
        Array.from({ length: 20 }, (_, index) => `line ${index}`),
      );
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'ports: nobody there is refused, and a connection ends with its signal and with the work',
    run: async (t, h) => {
      const work = await h.running(box());
      t.like(await h.engine.connect(work.id, 8009, h.patience()), { outcome: 'Refused' });
      t.deepEqual(await h.engine.connect('unknown.1', 8009, h.patience()), { outcome: 'NotRunning' });
      await serve(h, work.id, 8004, 'print $c "hi"; while (sysread $c, my $d, 65536) {} print "left\\n"');
      const gone = new AbortController();
      const aborted = await connected(h, work.id, 8004, gone.signal);
      aborted.on('error', () => undefined);
      const closed = new Promise((done) => aborted.once('close', done));
      gone.abort();
      await closed;
      for await (const { data } of h.engine.logs(
        work.id,
        { container: 'process-server8004', follow: true },
        h.patience(),
      )) {
        if (Buffer.from(data).toString() === 'left\n') break;
      }
      const under = await connected(h, work.id, 8004);
      const failed = once(under, 'error') as Promise<[Error]>;
      await once(under, 'readable');
      t.is(String(under.read()), 'hi');
      await h.engine.remove(work.id, true, h.patience());
      under.resume();
      t.regex((await failed)[0].message, /work ended/);
    },
  },
];
