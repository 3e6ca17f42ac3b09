/** Sandboxes and what dies under them: the service, and the runner. */
import test from 'ava';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { Client as Database } from 'pg';
import { numberAt, parsed, textAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { text } from '../support/proc.js';
import { shareKilled } from './killed.js';
import { condition, NOTES, SANDBOXES, sandboxesAt, type Sandboxes } from './sandboxes.js';

const BOX = 'survivor';

/** Who keeps which blob: `uid digest` each. */
function holdersOf(databaseUrl: string): () => Promise<readonly string[]> {
  return async () => {
    const database = new Database({ connectionString: databaseUrl });
    await database.connect();
    try {
      const { rows } = await database.query<{ held: string }>(
        "SELECT uid || ' ' || digest AS held FROM blob_refs ORDER BY 1",
      );
      return rows.map(({ held }) => held);
    } finally {
      await database.end();
    }
  };
}

interface Answered {
  readonly name: string;
  readonly status: number;
  readonly body: unknown;
}

/**
 * Stops the runner, and asks for all that is done inside the Sandbox at epoch 2. Resolves when the requests with a connection of their own wait for the
 * runner, with what will be answered.
 */
async function askWhileSilent(
  boxes: Sandboxes,
  runner: number,
): Promise<{ readonly answers: Promise<readonly Answered[]> }> {
  const client = boxes.client();
  const at = `${SANDBOXES}/${BOX}`;
  const handle = textAt((await client.post(`${at}/processes`, { command: ['cat'] })).body, 'id');
  // Each of the service's connections to this runner, also one that the runner has not accepted yet.
  const { runtimeDir } = JSON.parse(
    text(`/proc/${runner}/cmdline`)
      .split('\0')
      .find((word) => word.startsWith('{')) ?? '',
  ) as {
    readonly runtimeDir: string;
  };
  const connections = (): number => text('/proc/net/unix').split(`${runtimeDir}/socket/runner\n`).length - 1;
  const before = connections();
  process.kill(runner, 'SIGSTOP');
  const bytes = { raw: 'x', contentType: 'application/octet-stream' };
  const own: Record<string, Promise<{ readonly status: number; readonly body: unknown }>> = {
    exec: client.post(`${at}/exec`, { command: ['true'] }),
    'exec with frames': client.post(`${at}/exec`, { command: ['true'] }, { accept: 'application/x-ndjson' }),
    terminal: upgrade(`${client.url}${at}/terminal`, client.key),
    'reading a file': client.get(`${at}/files?path=/workspace/epochs`),
    'a listing': client.get(`${at}/files?path=/workspace&list=true`),
    'writing a file': client.ask('PUT', `${at}/files?path=/workspace/x`, bytes),
    'deleting a file': client.remove(`${at}/files?path=/workspace/y`),
    'an archive': client.get(`${at}/files/archive?path=/workspace`),
    'a port': client.get(`${at}/ports/8000/`),
  };
  const shared: typeof own = {
    processes: client.get(`${at}/processes`),
    'starting a process': client.post(`${at}/processes`, { command: ['true'] }),
    'a process': client.get(`${at}/processes/${handle}`),
    'input of a process': client.ask('POST', `${at}/processes/${handle}/stdin`, bytes),
    'a signal': client.post(`${at}/processes/${handle}/signals`, { signal: 'SIGTERM' }),
    'output of a process': client.get(`${at}/processes/${handle}/output?follow=true`),
  };
  const all = Object.entries({ ...own, ...shared });
  const answers = Promise.all(all.map(async ([name, answer]) => ({ name, ...(await answer) })));
  answers.catch(() => undefined);
  await until('they wait for the runner', () => connections() >= before + Object.keys(own).length);
  return { answers };
}

/** The answer to a handshake that is refused. */
async function upgrade(url: string, key: string): Promise<{ readonly status: number; readonly body: unknown }> {
  const headers = {
    ...{ authorization: `Bearer ${key}`, connection: 'upgrade', upgrade: 'websocket' },
    ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' },
  };
  const asked = request(url, { headers }).end();
  const [message] = (await once(asked, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return { status: message.statusCode ?? 0, body: parsed(Buffer.concat(parts).toString()) };
}

test.serial(
  'A SIGKILLed service adopts what runs; a SIGKILLed runner takes its work along, and what that has written comes back at the next epoch',
  async (t) => {
    const boxes = sandboxesAt(await shareKilled());
    t.teardown(() => boxes.service.close());
    const held = holdersOf(boxes.service.databaseUrl);
    const others = new Set(await held());
    await boxes.post(BOX, { command: NOTES });
    await boxes.phase(BOX, 'Running', 1);
    await boxes.said(BOX, 1, '1\n');
    await boxes.patch(BOX, { spec: { state: 'Stopped' } });
    await boxes.phase(BOX, 'Stopped');
    await boxes.patch(BOX, { spec: { state: 'Running' } });
    await boxes.phase(BOX, 'Running', 2);
    await boxes.said(BOX, 2, '1\n2\n');

    await boxes.service.kill();
    await boxes.service.start();
    await boxes.phase(BOX, 'Running', 2);
    t.is((await boxes.attempts(BOX)).length, 2, 'it runs on, and nothing was begun anew');

    const runner = await boxes.runner();
    const { answers } = await askWhileSilent(boxes, runner);
    process.kill(runner, 'SIGKILL');
    for (const { name, status, body } of await answers) {
      t.true(status === 503 || status === 409, `${name} is answered ${status} ${JSON.stringify(body)}`);
      t.regex(textAt(body, 'reason'), /^(?:Unavailable|Sandbox(?:NotRunning|Starting))$/, name);
    }
    const back = await boxes.phase(BOX, 'Running', 3);
    t.is(await boxes.said(BOX, 3, '1\n2\n3\n'), '1\n2\n3\n', 'the machine still had what epoch 2 wrote');
    t.is(condition(back, 'StateSaved'), 'True Saved');
    const [, second, third] = await boxes.attempts(BOX);
    t.is(textAt(second, 'status', 'reason'), 'NodeLost');
    t.is(textAt(second, 'status', 'supersededBy'), textAt(third, 'metadata', 'name'));
    t.true(
      Date.parse(textAt(second, 'status', 'timings', 'deletionProvenTime')) <=
        Date.parse(textAt(third, 'status', 'timings', 'queuedTime')),
      'no successor before the proof',
    );

    // In the middle of a stop.
    await boxes.patch(BOX, { spec: { state: 'Stopped' } });
    await boxes.service.kill();
    await boxes.service.start();
    const stopped = await boxes.phase(BOX, 'Stopped');
    t.is(condition(stopped, 'StateSaved'), 'True Saved');
    const digest = textAt(stopped, 'status', 'snapshot', 'digest');
    await until('the last snapshot is all that is kept, and by the Sandbox', async () => {
      const rows = (await held()).filter((row) => !others.has(row));
      return rows.length === 1 && rows[0] === `${textAt(stopped, 'metadata', 'uid')} ${digest}`;
    });
    await boxes.patch(BOX, { spec: { state: 'Running' } });
    await boxes.phase(BOX, 'Running', 4);
    t.is(await boxes.said(BOX, 4, '1\n2\n3\n4\n'), '1\n2\n3\n4\n');
    t.is(numberAt(await boxes.get(BOX), 'status', 'attempt', 'epoch'), 4);
  },
);
