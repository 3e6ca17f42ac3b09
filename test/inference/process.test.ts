/**
 * What is a matter of the whole process that serves models: what it keeps, its memory, its end by SIGTERM and by SIGKILL. With a wallet that is paid
 * in advance. One test after the other, at a service of their own.
 */
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { delay } from '../../actors/wait.js';
import { sumUSD, USD } from '../../src/money/usd.js';
import { listAt, numberAt, path, textAt, type Client } from '../e2e/client.js';
import { startRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openCatalog, OPERATOR_KEY, type TestCatalog } from './support/catalog.js';
import {
  CHAT,
  inDatabase,
  ledgerOf,
  makeEndpoint,
  makeKey,
  MESSAGES,
  NO_LIMITS,
  openStream,
  said,
  settledCost,
  told,
} from './support/gateway.js';
import {
  chatAnswer,
  chunk,
  DONE,
  json,
  messageAnswer,
  messageBegin,
  streamHead,
  textDelta,
  usageChunk,
  type Upstreams,
} from './support/upstreams.js';

const MINUTE_MS = 60_000;
const MIB = 2 ** 20;

let catalog: TestCatalog;
let upstreams: Upstreams;
let service: Running;
/** All that it has printed. */
let heard = '';
test.before(async () => {
  catalog = await openCatalog();
  ({ upstreams } = catalog);
  service = await startRunning(undefined, {
    env: { ...catalog.env, TROUPE_WALLET: 'Prepaid', TROUPE_BOOTSTRAP_CREDITS: '0.10' },
    hear: (text) => {
      heard += text;
    },
  });
});
test.after.always(async () => {
  await service?.close();
  await catalog?.close();
});

const MARKER = 'marker-7c1d94e0';
const USED = { input: 5, output: 5 };

function ask(model: string, more: object = {}): object {
  return { model, max_tokens: 50, messages: said(`${MARKER} in the prompt`), ...more };
}

/** All rows of all tables, as text; what is stored as bytes is hexadecimal in it. */
async function storedRows(): Promise<string> {
  const tables = await inDatabase<{ name: string }>(
    service,
    `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const parts: string[] = [];
  for (const { name } of tables) {
    const rows = await inDatabase<{ row: string }>(service, `SELECT t::text AS row FROM ${name} t`);
    parts.push(...rows.map(({ row }) => row));
  }
  return parts.join('\n');
}

async function filesBelow(directory: string): Promise<readonly Buffer[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Promise.all(files.map((file) => readFile(file)));
}

test.serial(
  'nothing of prompts, answers and the keys of upstreams is kept anywhere, however a request ends',
  async (t) => {
    const owner = service.client();
    await makeEndpoint(owner, 'private', { model: 'private', limits: NO_LIMITS });
    const statuses: number[] = [];
    const note = async (to: string, body: object): Promise<void> => {
      const { status, text } = await owner.post(to, body);
      statuses.push(status);
      t.false(text.includes(OPERATOR_KEY), text);
    };
    await note(CHAT, ask('echo'));
    await note(CHAT, ask('echo', { stream: true }));
    await note(MESSAGES, ask('echo'));
    await note(CHAT, ask('echo', { messages: told({ fail: 500 }, MARKER) }));
    await note(CHAT, ask('echo', { messages: told({ breakAfter: 1 }, MARKER), stream: true }));
    await note(CHAT, ask('echo', { messages: told({ nonsense: MARKER }) }));
    await note(CHAT, ask(MARKER));
    await note(CHAT, ask(`endpoint/${MARKER}`));
    await note(CHAT, ask('echo', { base_url: MARKER }));
    await note(CHAT, ask('echo', { max_tokens: 1_000_000 }));
    await note('/v1/embeddings', { model: 'echo', input: MARKER });
    upstreams.on('private', (response) => json(response, 200, chatAnswer(`${MARKER} in the answer`, USED)));
    await note(CHAT, ask('endpoint/private', { user: MARKER, metadata: { note: MARKER } }));
    for (const status of [400, 401, 429, 500]) {
      upstreams.on('private', (response, { headers, text }) =>
        json(response, status, {
          error: { message: `${text} of ${headers.authorization}`, param: MARKER, code: MARKER },
        }),
      );
      await note(CHAT, ask('endpoint/private'));
    }
    upstreams.on('private-claude', (response) => {
      streamHead(response);
      response.write(messageBegin(2) + textDelta(MARKER), () => response.destroy());
    });
    await note(MESSAGES, ask('private-claude', { stream: true, system: MARKER }));
    upstreams.on('private-claude', (response) => {
      streamHead(response);
      response.end(`data: ${MARKER}\n\n`);
    });
    await note(MESSAGES, ask('private-claude', { stream: true }));
    upstreams.on('private-claude', (response) => json(response, 200, messageAnswer(MARKER, USED)));
    await note(MESSAGES, ask('private-claude'));
    t.deepEqual(statuses, [
      ...[200, 200, 200, 503, 200, 400, 404, 404, 400, 400, 200, 200],
      // The second refusal cools the route of the operator's key.
      ...[400, 503, 503, 503, 200, 200, 200],
    ]);
    await until('all is posted', async () => numberAt((await owner.get(path('wallet', ''))).body, 'heldUSD') === 0);

    const secrets = [MARKER, OPERATOR_KEY];
    const rows = await storedRows();
    const files = await filesBelow(service.dataDir);
    t.true(
      rows.includes('InferenceEndpoint') && files.length > 0 && heard.length > 0,
      'there is something to look into',
    );
    for (const secret of secrets) {
      t.false(rows.includes(secret), 'the database');
      t.false(rows.includes(Buffer.from(secret).toString('hex')), 'bytes in the database');
      t.false(heard.includes(secret), 'the log');
      t.false(
        files.some((file) => file.includes(secret)),
        'the data directory',
      );
    }
  },
);

async function residentBytes(): Promise<number> {
  const status = await readFile(`/proc/${service.pid()}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

test.serial(
  'a client that does not read holds its upstream back: 64 MiB at full speed take less than 40 MiB of memory',
  async (t) => {
    const owner = service.client();
    const part = `data: {"choices":[],"padding":"${'x'.repeat(64 * 1024)}"}\n\n`;
    let sent = 0;
    let ended = false;
    upstreams.on('flood', async (response) => {
      const over = new AbortController();
      response.once('close', () => over.abort());
      streamHead(response);
      for (let i = 0; i < 1_024 && !response.destroyed; i += 1) {
        sent += part.length;
        if (!response.write(part)) await once(response, 'drain', { signal: over.signal }).catch(() => undefined);
      }
      response.end(chunk('Hi', 'stop') + usageChunk(USED) + DONE);
      ended = true;
    });
    const before = await residentBytes();
    const leaving = new AbortController();
    const response = await fetch(new URL(CHAT, owner.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask('flood', { stream: true, max_tokens: 1_000, n: 10 })),
      signal: leaving.signal,
    });
    t.is(response.status, 200);
    let most = 0;
    let [last, still] = [-1, 0];
    await until('the upstream is held back', async () => {
      most = Math.max(most, (await residentBytes()) - before);
      still = sent === last ? still + 1 : 0;
      last = sent;
      return still === 10;
    });
    t.false(ended);
    t.true(sent < 32 * MIB, `${sent} bytes were taken`);
    t.true(most < 40 * MIB, `${Math.round(most / MIB)} MiB`);
    // It goes on where it was.
    let length = 0;
    for await (const bytes of response.body ?? []) length += (bytes as Uint8Array).length;
    t.true(length > 64 * MIB, `${length} bytes`);
    leaving.abort();
  },
);

test.serial('a stream of padding is cut when it has far more bytes than its tokens need', async (t) => {
  const owner = service.client();
  const part = `data: {"choices":[],"padding":"${'x'.repeat(64 * 1024)}"}\n\n`;
  upstreams.on('flood', async (response) => {
    const over = new AbortController();
    response.once('close', () => over.abort());
    streamHead(response);
    for (let i = 0; i < 1_024 && !response.destroyed; i += 1) {
      if (!response.write(part)) await once(response, 'drain', { signal: over.signal }).catch(() => undefined);
    }
    response.end(chunk('Hi', 'stop') + usageChunk(USED) + DONE);
  });
  const response = await fetch(new URL(CHAT, owner.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(ask('flood', { stream: true })),
  });
  const text = await response.text();
  t.true(text.length < 20 * MIB, `${text.length} bytes`);
  t.regex(text.slice(-2_000), /it sends far more than its tokens need/);
});

test.serial(
  'who drains the service by SIGTERM lets streams that end soon come to their end, and the others are told',
  async (t) => {
    const owner = service.client();
    const uid = await makeEndpoint(owner, 'drained', { model: 'brief', limits: NO_LIMITS });
    upstreams.on('brief', (response) => {
      streamHead(response);
      response.write(chunk('Hi'));
      setTimeout(() => response.end(chunk('', 'stop') + usageChunk(USED) + DONE), 1_000);
    });
    upstreams.on('lasting', (response) => {
      streamHead(response);
      response.write(chunk('Hi'));
    });
    const brief = await openStream(owner, CHAT, ask('endpoint/drained'));
    const lasting = await openStream(owner, CHAT, ask('lasting'));
    await until('both have begun', () => brief.text().includes('Hi') && lasting.text().includes('Hi'));
    service.signal('SIGTERM');
    t.is(await brief.ended, 'End');
    t.true(brief.text().endsWith(DONE), brief.text());
    t.is(await lasting.ended, 'End');
    t.regex(lasting.text(), /"error":\{"message":"the service is shutting down"/);
    await until('it has ended', () => !service.alive());
    t.regex(service.log(), /process ended: 0/);
    t.is(await settledCost(service, uid), '0.000015', 'what ended during the drain is paid');
    await service.start();
  },
);

interface Load {
  /** Answers with 200 of requests that were sent in this window (ms since the epoch): when each was sent. */
  readonly answered: readonly { readonly sent: number; readonly costUSD: string }[];
  stop(): Promise<void>;
}

/** So many clients that ask one request after the other, whatever becomes of the service; what is not answered with 200 is asked again after a pause. */
function openLoad(makeClient: () => Client, model: string, clients: number, stream = false): Load {
  const answered: { sent: number; costUSD: string }[] = [];
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const sent = Date.now();
      const answer = await makeClient()
        .post(CHAT, ask(model, { stream }))
        .catch(() => undefined);
      if (answer?.status === 200) answered.push({ sent, costUSD: answer.headers.get('x-svc-cost-usd') ?? '0' });
      else await delay(answer === undefined ? 100 : 20, stopping.signal);
    }
  };
  const running = Promise.all(Array.from({ length: clients }, run));
  return {
    answered,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

test.serial(
  'SIGKILL under load leaves no hold and charges nothing twice, and requests go on after the restart',
  async (t) => {
    const uid = await makeEndpoint(service.client(), 'killed', { model: 'load', limits: NO_LIMITS });
    upstreams.on('load', (response) => {
      setTimeout(() => json(response, 200, chatAnswer('Hi', USED)), 2);
    });
    const load = openLoad(() => service.client(), 'endpoint/killed', 8);
    t.teardown(() => load.stop());
    for (let kill = 0; kill < 2; kill += 1) {
      const before = load.answered.length;
      await until('it is under load', () => load.answered.length > before + 100);
      await service.kill();
      await service.start();
      const left = await inDatabase<{ key: string }>(service, "SELECT key FROM holds WHERE key LIKE 'block/%'");
      const [lease] = await inDatabase<{ epoch: string }>(service, 'SELECT max(epoch)::text AS epoch FROM lease');
      t.deepEqual(
        left.filter(({ key }) => key.split('/')[1] !== lease?.epoch),
        [],
        'blocks of the process that was killed',
      );
    }
    const before = load.answered.length;
    await until('requests go on', () => load.answered.length > before + 100);
    await load.stop();
    const spent = new USD(await settledCost(service, uid));
    const given = sumUSD(load.answered.map(({ costUSD }) => costUSD));
    t.true(spent.lte(given), `${spent.toFixed()} are charged of ${given.toFixed()}`);
    // 50 ms of it are lost with each kill.
    t.true(spent.gt(given.dividedBy(2, 'Up')), `${spent.toFixed()} are charged of ${given.toFixed()}`);
    const balance = textAt((await service.client().get(path('wallet', ''))).body, 'balanceUSD');
    const entries = listAt((await service.client().get(`${path('wallet', '')}/entries?limit=1000`)).body, 'items');
    t.is(sumUSD(entries.map((entry) => textAt(entry, 'balanceChangeUSD'))).toFixed(), new USD(balance).toFixed());
  },
);

test.serial(
  'over a restart after SIGKILL no minute has more requests than rpm, and at most a fiftieth of them is lost',
  async (t) => {
    const rpm = 200;
    await makeEndpoint(service.client(), 'windowed', { model: 'echo', limits: { rpm, maxConcurrent: 64 } });
    const load = openLoad(() => service.client(), 'endpoint/windowed', 4);
    t.teardown(() => load.stop());
    await until('half of it is used', () => load.answered.length >= rpm / 2);
    await service.kill();
    await service.start();
    let own = 0;
    const refused = async (): Promise<boolean> => {
      const { status } = await service.client().post(CHAT, ask('endpoint/windowed'));
      if (status === 200) own += 1;
      return status === 429;
    };
    await until('all of it is used', refused);
    const first = load.answered[0]?.sent ?? 0;
    t.true(Date.now() - first < MINUTE_MS, 'within one minute');
    await load.stop();
    const admitted = load.answered.length + own;
    // Answers of requests that were under way when it was killed are lost: the clients have 4.
    t.true(admitted <= rpm, `${admitted}`);
    t.true(admitted >= Math.floor(rpm * 0.98) - rpm / 50 - 4, `${admitted}`);
  },
);

test.serial(
  'a request whose largest cost is more than a prepaid balance is 402 InsufficientCredits, and costs nothing',
  async (t) => {
    const owner = service.client();
    const uid = await makeEndpoint(owner, 'poor', { model: 'private', limits: NO_LIMITS });
    const key = await makeKey(owner, 'poor', { scopes: ['inference:invoke'] });
    // 200,000 bytes may be as many tokens, at 1 USD a million: 0.20 USD of 0.10.
    const body = ask('endpoint/poor', { messages: said('x'.repeat(200_000)) });
    const refused = await owner.ask('POST', CHAT, { body, key });
    t.is(refused.status, 402, refused.text);
    t.is(textAt(refused.body, 'error', 'code'), 'InsufficientCredits');
    t.is(textAt(refused.body, 'error', 'type'), 'insufficient_quota');
    t.is(refused.headers.get('x-should-retry'), 'false');
    t.is(Number((await ledgerOf(service, uid)).spent), 0);
  },
);
