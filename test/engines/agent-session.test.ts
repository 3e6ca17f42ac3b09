/** Connections with the agent of a box, which may be in hostile hands: whatever it says that an honest one would not ends the box. */
import { createServer, type Socket } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { encodeOrder, MAX_ORDER, type SessionOrder } from '../../src/runner/agent/order.js';
import { Session, type Listener } from '../../src/runner/agent/session.js';
import { encodeFrame, FRAME, roomFrame } from '../../src/engines/compute/shared/frames.js';
import { steady, until } from '../e2e/until.js';
import { tries } from '../support/extent.js';

const COMMAND: SessionOrder = { kind: 'command', command: ['prog'], env: {}, workingDir: '/' };

interface Talk {
  readonly session: Session;
  readonly agent: Socket;
  readonly broken: string[];
  readonly heard: Buffer[];
}

/** A session with an agent that the test plays. */
async function talk(t: ExecutionContext, order = COMMAND, listener?: Listener, killMs?: number): Promise<Talk> {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-agent-'));
  const path = join(dir, 'socket');
  const server = createServer();
  const accepted = new Promise<Socket>((done) => server.once('connection', done));
  await new Promise<void>((done) => server.listen(path, done));
  const broken: string[] = [];
  const heard: Buffer[] = [];
  const hears: Listener = {
    feed: (_, chunk) => {
      heard.push(chunk);
      return true;
    },
    whenReady: (resume) => resume(),
  };
  const session = new Session(path, order, listener ?? hears, (why) => broken.push(why), killMs);
  const agent = await accepted;
  agent.on('error', () => undefined);
  t.teardown(() => {
    agent.destroy();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { session, agent, broken, heard };
}

const end = (what: string, number: number): Buffer =>
  encodeFrame(FRAME.end, Buffer.concat([Buffer.from(what), Buffer.from([number])]));

test('an honest agent is understood, and nothing counts after its last word', async (t) => {
  const { session, agent, broken, heard } = await talk(t);
  agent.write(encodeFrame(FRAME.started, Buffer.alloc(0)));
  t.true(await session.started);
  agent.write(
    Buffer.concat([encodeFrame(FRAME.stdout, Buffer.from('said')), end('X', 7), encodeFrame(99, Buffer.from('?'))]),
  );
  t.deepEqual(await session.ended, { end: 'Exited', exitCode: 7 });
  t.is(Buffer.concat(heard).toString(), 'said');
  t.deepEqual(broken, []);
});

for (const [what, number, reason] of [
  ['E', 2, 'CommandNotFound'],
  ['E', 13, 'CommandNotExecutable'],
  ['D', 20, 'WorkingDirNotFound'],
  ['F', 11, 'SandboxFailed'],
  ['F', 255, 'SandboxFailed'],
  ['E', 0, 'CommandNotExecutable'],
] as const) {
  test(`what could not be executed is told in the runner's own words: ${what} ${number}`, async (t) => {
    const { session, agent, broken } = await talk(t);
    agent.write(end(what, number));
    t.like(await session.ended, { end: 'NotExecuted', reason });
    t.false(await session.started);
    t.deepEqual(broken, []);
  });
}

for (const [what, bytes] of [
  ['a frame of a type that is not known', encodeFrame(99, Buffer.alloc(3))],
  ['a frame that only the runner may send', encodeFrame(FRAME.kill, Buffer.alloc(0))],
  ['output that is longer than a frame', Buffer.from([FRAME.stdout, 0, 2, 0, 0])],
  ['words without end', Buffer.from([FRAME.end, 0, 0, 255, 255])],
  ['more room than there was input', roomFrame(1)],
  ['room of a strange length', encodeFrame(FRAME.room, Buffer.alloc(2))],
  ['an end that is none', encodeFrame(FRAME.end, Buffer.from('{"end":"Exited"}'))],
  ['an end of a kind that is not known', end('Z', 0)],
] as const) {
  test(`an agent breaks its word by ${what}`, async (t) => {
    const { session, agent, broken } = await talk(t);
    agent.write(bytes);
    t.deepEqual(await session.ended, { end: 'Gone' });
    t.is(broken.length, 1);
  });
}

test('an agent that hangs up before the end was its box, which is gone', async (t) => {
  const { session, agent, broken } = await talk(t);
  agent.end();
  t.deepEqual(await session.ended, { end: 'Gone' });
  t.deepEqual(broken, []);
});

test('whatever bytes an agent sends, the session ends or waits, and never throws', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 4 }), async (chunks) => {
      const { session, agent } = await talk(t);
      for (const chunk of chunks) agent.write(chunk);
      agent.end();
      t.true(['Exited', 'NotExecuted', 'Gone'].includes((await session.ended).end));
    }),
    { numRuns: tries(30) },
  );
});

test('a listener that is full stops the reading, and what is dropped is read on', async (t) => {
  let fed = 0;
  const { session, agent } = await talk(t, COMMAND, {
    feed: () => {
      fed++;
      return false;
    },
    whenReady: () => undefined,
  });
  const piece = encodeFrame(FRAME.stdout, Buffer.alloc(65_531));
  for (let index = 0; index < 200; index++) agent.write(piece);
  await until('something is fed', () => fed > 0);
  await steady('nothing more is fed', () => fed);
  t.true(fed < 20, `${fed}`);
  const drained = new Promise((done) => agent.once('drain', done));
  session.drop();
  await drained;
  agent.write(end('X', 137));
  t.deepEqual(await session.ended, { end: 'Exited', exitCode: 137 });
});

test('a box pays for not ending what it is told to, and not for a reader that has stopped', async (t) => {
  for (const honest of [true, false]) {
    let resume = (): void => undefined;
    const stuck = { feed: () => false, whenReady: (ready: () => void) => void (resume = ready) };
    const { session, agent, broken } = await talk(t, COMMAND, stuck, 150);
    const feeding = new Promise<void>((fed) => {
      stuck.feed = () => {
        fed();
        return false;
      };
    });
    agent.write(encodeFrame(FRAME.stdout, Buffer.from('said')));
    await feeding;
    session.kill();
    if (honest) agent.write(end('X', 137));
    await steady('nothing ends', () => broken.length, 400);
    t.deepEqual(broken, []);
    resume();
    t.deepEqual(await session.ended, honest ? { end: 'Exited', exitCode: 137 } : { end: 'Gone' });
    t.is(broken.length, honest ? 0 : 1);
    // Once more, with nobody who reads: whoever is not heard is not waited for either.
    const late = await talk(t, COMMAND, { ...stuck, whenReady: () => undefined }, 150);
    late.agent.write(encodeFrame(FRAME.stdout, Buffer.from('said')));
    late.session.drop();
    t.deepEqual(await late.session.ended, { end: 'Gone' });
    t.is(late.broken.length, 1);
  }
});

test('an order that is too long for any system is refused without an agent', async (t) => {
  t.is(encodeOrder({ ...COMMAND, env: { A: 'x'.repeat(MAX_ORDER) } }), undefined);
  const order = { ...COMMAND, command: ['prog', 'x'.repeat(MAX_ORDER)] };
  const session = new Session('/nowhere', order, { feed: () => true, whenReady: (resume) => resume() }, () => t.fail());
  t.like(await session.ended, { end: 'NotExecuted', reason: 'CommandNotExecutable' });
});
