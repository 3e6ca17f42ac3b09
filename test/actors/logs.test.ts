/** A log that is empty, and one that is not here. */
import test from 'ava';
import { encodeObject } from '../../src/api/encode.js';
import { RefusalError } from '../../src/api/refusal.js';
import type { LogLine } from '../../src/engines/compute/contract/engine.js';
import { kindByName } from '../../src/kinds/index.js';
import { openLog } from '../../actors/work/logs.js';

const MADE = '2026-11-20T12:00:00Z';
const ADDRESS = { org: 'o', kind: 'Attempt', project: 'default', name: 'a' };

/** What a reader gets of the log of an Attempt that ended. */
async function read(logsSince: number, lines: readonly string[]): Promise<string[]> {
  const attempt = encodeObject({
    apiVersion: 'svc.dev/v1',
    kind: 'Attempt',
    metadata: {
      name: 'a',
      namespace: 'default',
      uid: 'u',
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: MADE,
    },
    spec: { epoch: 1 },
    status: { phase: 'Succeeded' },
  });
  const attemptKind = kindByName('Attempt');
  if (attemptKind === undefined) throw new Error('there is no Attempt');
  const never = () => Promise.reject(new Error('not for this test'));
  const log = await openLog(
    ADDRESS,
    'u',
    { index: 0, container: 'main', follow: false },
    {
      resources: { read: () => Promise.resolve(attempt), watch: never, version: () => 1 },
      attemptKind,
      logsSince,
      slot: never,
      engine: {
        async *logs(): AsyncGenerator<LogLine> {
          for (const line of lines) yield { stream: 'stdout', time: 0, data: Buffer.from(line) };
        },
      },
    },
    new AbortController().signal,
  );
  const said: string[] = [];
  for await (const { data } of log ?? []) said.push(Buffer.from(data).toString());
  return said;
}

test('the log of a program that has printed nothing is empty', async (t) => {
  t.deepEqual(await read(0, []), []);
});

test('a log that may be in another directory and is not here is an error, and never empty', async (t) => {
  const later = Date.parse(MADE) + 1;
  const error = await t.throwsAsync(read(later, []), { instanceOf: RefusalError });
  t.is(error?.refusal.code, 'Unavailable');
  t.deepEqual(await read(later, ['one', 'two']), ['one', 'two'], 'it is here all the same');
});
