/** Every place that can answer with an error has a registered code, and every code that can be answered is raised here. */
import test from 'ava';
import { ERROR_CODES, type ErrorCode } from '../../src/api/errors/codes.js';
import { PROTOCOL_TABLE } from '../../src/api/errors/protocol.js';
import { ERROR_TABLE } from '../../src/api/errors/table.js';
import { listAt, path, textAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { shareRestarted, type Restarted } from '../faults/restarted.js';
import { at, json } from '../http/support/json.js';
import { findPlaces } from './places.js';
import { NOT_RAISED, RAISED, RAISED_AT_DOOR, raiseAtApi } from './raise.js';

const PLACES = findPlaces();
const registered = new Set<string>(ERROR_CODES);

/** Kubernetes' own reasons, which its clients look for; no code of ours says the same. */
const PROTOCOL = new Set(Object.keys(PROTOCOL_TABLE));

/** Places where a code is passed on, and not made up. */
const PASSED_ON = new Set([
  'actors/work/attach.ts',
  'http/client-error.ts',
  'http/errors.ts',
  'http/resources/check-collection.ts',
  'src/api/errors/status.ts',
  'src/engines/inference/dialects/anthropic/errors.ts',
  'src/engines/inference/dialects/openai/errors.ts',
  'src/engines/inference/dialects/responses/write-answer.ts',
  'http/inference/under-way.ts',
  'http/inference/errors.ts',
  'src/engines/inference/echo/openai.ts',
  'src/engines/inference/dialects/upstream-error.ts',
  'src/engines/payments/stripe/failure.ts',
  'src/api/patches/json.ts',
  'src/api/refusal.ts',
  'src/kinds/write/patch.ts',
]);

/** Descriptions of errors, which answer nothing. */
const DESCRIPTIONS = new Set(['http/openapi/components.ts', 'src/kinds/estimate.ts', 'src/kinds/shapes/status.ts']);

test('every place that can answer with an error answers with a registered code', (t) => {
  t.true(PLACES.length > 100, 'the source is where it was');
  for (const { file, code, how } of PLACES) {
    if (code === undefined) t.true(PASSED_ON.has(file) || DESCRIPTIONS.has(file), `${file} makes up a code`);
    else t.true(how === 'protocol' ? PROTOCOL.has(code) : registered.has(code), `${file}: ${code}`);
  }
});

test('every code in the source is raised by a test, or it is said why it cannot be', (t) => {
  const found = new Set(PLACES.flatMap(({ code, how }) => (code === undefined || how === 'protocol' ? [] : [code])));
  const raised = new Set([...Object.keys(RAISED), ...Object.keys(RAISED_AT_DOOR), ...NOT_RAISED.keys()]);
  t.deepEqual([...found].toSorted(), [...raised].toSorted());
});

function entries<T>(table: Readonly<Partial<Record<ErrorCode, T>>>): readonly (readonly [ErrorCode, T])[] {
  return ERROR_CODES.flatMap((code) => {
    const raise = table[code];
    return raise === undefined ? [] : [[code, raise] as const];
  });
}

let shared: Restarted | undefined;
test.before('a service is started', async () => {
  shared = await shareRestarted();
});
test.after.always('it is ended', () => shared?.close());

for (const [code, raise] of entries(RAISED)) {
  test.serial(`${code} is answered with its status, its page and what to do`, async (t) => {
    if (shared === undefined) throw new Error('no service');
    const { service } = shared;
    const answer = await raise(service, service.client());
    t.is(textAt(answer.body, 'reason'), code, answer.text);
    t.is(answer.status, ERROR_TABLE[code].status);
    t.is(textAt(answer.body, 'kind'), 'Status');
    t.is(textAt(answer.body, 'docs'), `${service.url}/docs/errors/${code}`);
    t.not(textAt(answer.body, 'fix'), '');
    t.not(textAt(answer.body, 'message'), '');
    t.is(textAt(answer.body, 'requestId'), answer.headers.get('x-request-id') ?? '');
    if (code === 'Invalid') t.true(listAt(answer.body, 'details', 'causes').length > 0);
    if (ERROR_TABLE[code].retryAfterSeconds !== undefined) t.not(answer.headers.get('retry-after'), null);
  });
}

for (const [code, raise] of entries(RAISED_AT_DOOR)) {
  test(`${code} is answered over HTTP`, async (t) => {
    const answer = await raiseAtApi(t, raise);
    const body = await json(answer);
    t.is(at(body, 'reason'), code);
    t.is(answer.status, ERROR_TABLE[code].status);
    t.regex(String(at(body, 'docs')), new RegExp(`/docs/errors/${code}$`));
    if (ERROR_TABLE[code].retryAfterSeconds !== undefined) t.not(answer.headers.get('retry-after'), null);
  });
}

test.serial('full storage is an event of the wallet', async (t) => {
  if (shared === undefined) throw new Error('no service');
  const { service } = shared;
  const owner = service.client();
  await RAISED.QuotaExceeded?.(service, owner);
  await until('the event is there', async () => {
    const { body } = await owner.get(`${path('events', '')}?type=billing.storage_quota_exceeded`);
    return listAt(body, 'items').length === 1;
  });
  t.pass();
});
