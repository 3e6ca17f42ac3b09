/** Where a start fetches its inputs, and what becomes of one that is overruled meanwhile. */
import test from 'ava';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DONE, OVERRULED } from '../../actors/effects/outcome.js';
import { startWork, type WorkDeps } from '../../actors/effects/work.js';
import { fetchInputs, openInputs } from '../../actors/work/inputs.js';
import { decodeObject, encodeObject } from '../../src/api/encode.js';
import { openDialer } from '../../src/engines/dialer/dialer.js';
import { fetchUrl } from '../../src/engines/fetch/fetch.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { WorkReport } from '../../src/kinds/report.js';
import { missing, openServer } from '../engines/dialer/server.js';

const run = missing === undefined ? test : test.skip;

const ATTEMPT = { org: 'o-1', kind: 'Attempt', project: 'default', name: 'a' };
const JOB = { ...ATTEMPT, kind: 'Job', name: 'j' };
const EFFECT = { type: 'StartWork', owner: JOB, ownerUid: 'u-job', slot: 0, epoch: 1 } as const;

function object(kind: string, uid: string, phase: string): Buffer {
  const metadata = { name: uid, uid, namespace: 'default', resourceVersion: '1', creationTimestamp: '', generation: 1 };
  return encodeObject({ apiVersion: 'x/v1', kind, metadata, spec: {}, status: { phase } });
}

for (const [phase, told] of [
  ['Provisioning', ['StartFailed Stopped']],
  ['Running', []],
] as const) {
  run(
    `a stop during a slow download ends it at once, and of work that is ${phase} it tells ${told.join() || 'nothing'}`,
    async (t) => {
      const dir = mkdtempSync(join(tmpdir(), 'troupe-start-'));
      const overrule = new AbortController();
      let closed: () => void = () => undefined;
      const gone = new Promise<void>((done) => (closed = done));
      // A body that never ends.
      const server = await openServer(t, (request, response) => {
        request.once('close', closed);
        response.writeHead(200);
        response.write('a little', () => overrule.abort(OVERRULED));
      });
      const dialer = openDialer({ allow: ['127.0.0.1'], ca: [server.ca] });
      const reports: string[] = [];
      let started = 0;
      const plan = {
        image: 'svc/agent-tools',
        main: { name: 'main', command: ['true'], env: [] },
        sidecars: [],
        secrets: [],
        workingDir: '/workspace',
        inputs: [{ name: 'x', from: 'url' as const, url: `https://127.0.0.1:${server.port}/x` }],
        outputs: [],
        amounts: { milliCpu: 1, memory: 1, disk: 1 },
      };
      const deps = {
        secrets: { open: async () => undefined },
        read: async ({ kind }: { kind: string }) =>
          kind === 'Job' ? object('Job', 'u-job', 'Running') : object('Attempt', 'u-attempt', phase),
        inputs: openInputs({
          dir,
          link: async () => undefined,
          fetch: (url, to, sha256, signal) => fetchUrl(url, { dialer, to, sha256, signal, limit: 1 << 20 }),
          output: async () => ({ found: 'NotYet' }),
        }),
        kinds: [{ kind: 'Job', workPlan: () => plan }] as unknown as readonly KindDefinition[],
        engine: { start: async () => void (started += 1) } as unknown as WorkDeps['engine'],
        reports: undefined,
        attempts: { begin: () => undefined, end: () => undefined },
        used: () => undefined,
        tell: async () => DONE,
        deliver: async (_address: unknown, _uid: string, report: WorkReport) => {
          reports.push(report.report === 'StartFailed' ? `StartFailed ${report.reason}` : report.report);
          return 'Done' as const;
        },
        now: () => 0,
        fundedSeconds: () => undefined,
        workBegun: () => undefined,
      } satisfies WorkDeps;
      const row = { version: 1, address: ATTEMPT, uid: 'u-attempt', effects: [EFFECT] };
      const attempt = decodeObject(object('Attempt', 'u-attempt', phase));
      const first = await startWork(row, EFFECT, attempt, deps, overrule.signal, 'starts');
      t.deepEqual(first, { outcome: 'Continue', pool: 'fetches' }, 'nothing is fetched in the place of a start');
      const outcome = await startWork(row, EFFECT, attempt, deps, overrule.signal, 'fetches');
      t.deepEqual(outcome, { outcome: 'Done' });
      t.deepEqual(reports, [...told]);
      t.is(started, 0);
      t.deepEqual(readdirSync(join(dir, 'u-attempt.1')), []);
      await gone;
      rmSync(dir, { recursive: true });
    },
  );
}

test('what was fetched is there for every later try of the start, and is fetched once', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-fetch-'));
  let fetches = 0;
  const inputs = openInputs({
    dir,
    link: async () => undefined,
    fetch: async (_url, to) => {
      fetches += 1;
      if (fetches === 1) return { outcome: 'Failed', reason: 'StatusRefused', message: 'no answer', retryable: true };
      writeFileSync(to, 'x');
      return { outcome: 'Fetched', size: 1, sha256: '' };
    },
    output: async () => ({ found: 'NotYet' }),
  });
  const planned = [{ name: 'x', from: 'url' as const, url: 'https://x.invalid/' }];
  const { signal } = new AbortController();
  t.is((await fetchInputs('u.1', ATTEMPT, planned, inputs, signal)).outcome, 'Later');
  t.true(inputs.mustFetch('u.1', planned));
  t.is((await fetchInputs('u.1', ATTEMPT, planned, inputs, signal)).outcome, 'Fetched');
  t.false(inputs.mustFetch('u.1', planned));
  t.like(await inputs.stage('u.1', ATTEMPT, { name: 'x', from: 'url', url: 'https://x.invalid/' }, signal), {
    source: join(dir, 'u.1', 'x'),
  });
  t.is(fetches, 2);
  await inputs.release('u.1');
  t.true(inputs.mustFetch('u.1', planned), 'of work that was removed nothing is kept');
  rmSync(dir, { recursive: true });
});

test('a start keeps what was staged for work that the engine has, until that is removed, and drops what is old and of no work', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-staged-'));
  const opened = () =>
    openInputs({
      dir,
      link: async (_org, _digest, to) => writeFileSync(to, 'x'),
      fetch: () => Promise.reject(new Error('none')),
      output: async () => ({
        found: 'Output',
        output: { name: 'o', size: 1, sha256: 'a'.repeat(64), directory: false },
      }),
    });
  const { signal } = new AbortController();
  const before = opened();
  for (const id of ['works.1', 'fresh.1', 'old.1'])
    await before.stage(id, ATTEMPT, { name: 'x', from: 'output', job: 'j', output: 'o', index: 0 }, signal);
  t.deepEqual(readdirSync(join(dir, 'works.1')), ['x'], 'whole, and nothing beside it');
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const id of ['works.1', 'old.1']) utimesSync(join(dir, id), longAgo, longAgo);
  const after = opened();
  await after.adopt(new Set(['works.1']));
  t.deepEqual(readdirSync(dir).toSorted(), ['fresh.1', 'works.1']);
  await after.release('works.1');
  t.deepEqual(readdirSync(dir), ['fresh.1']);
  rmSync(dir, { recursive: true });
});
