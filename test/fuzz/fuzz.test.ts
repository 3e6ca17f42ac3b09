/**
 * The whole surface under objects that nobody thought of: what a kind's schema accepts, the service accepts and gives
 * back as it was sent; what is wrong at one place is refused with a cause that names the place; nothing is a 5xx.
 *
 * `FUZZ_SEED` begins elsewhere (the seed stands in every complaint), `FUZZ_CASES` sets how long it goes on.
 */
import { Agent, request } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { z } from 'zod';
import type { ApiObject } from '../../src/api/object.js';
import { DEFAULT_API_GROUP } from '../../src/brand.js';
import { KINDS } from '../../src/kinds/index.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { apiVersionOf } from '../../src/kinds/versions.js';
import { startRunning, type Running } from '../e2e/running.js';
import { amount } from '../support/extent.js';
import { generateSpec, type Schema } from './generate.js';
import { mutate } from './mutate.js';

/** Requests in all. */
const CASES = amount('FUZZ_CASES', 3_000, 21_000);
/** Fixed, so that a change is judged by what it changes; `FUZZ_SEED=$RANDOM` looks elsewhere. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
const AT_ONCE = 16;
/** A kind for which fewer than this part of the tries come to an accepted spec is hardly tested. */
const LEAST_MADE = 0.5;
/** Complaints of one kind that are shown. */
const SHOWN = 5;

/** Values that are never shown again, or folded into another field. */
const NOT_SHOWN: Readonly<Record<string, readonly string[]>> = {
  Secret: ['data', 'stringData'],
  Job: ['activeDeadlineSeconds', 'timeout'],
  TopUp: ['successURL'],
  // Cut to what its creator may do, each once.
  ServiceAccount: ['scopes'],
};

interface Case {
  readonly spec: Record<string, unknown>;
  /** Undefined: nothing is wrong with it. */
  readonly wrong: { readonly field: string; readonly what: string; readonly loose: boolean } | undefined;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const MADE = KINDS.filter((kind) => kind.operations.has('create') && kind.catalog !== true);

test('whatever the schemas allow is accepted and read back equal, whatever they do not is refused by its path', async (t) => {
  t.timeout(300_000);
  const service = await startRunning(t, { env: { TROUPE_COMPUTE: 'off' } });
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  t.teardown(() => agent.destroy());
  let sent = 0;
  for (const kind of MADE) {
    const cases = casesOf(t, kind, Math.ceil(CASES / MADE.length / 2));
    const complaints: string[] = [];
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let one = cases[next++]; one !== undefined; one = cases[next++]) {
        sent += one.wrong === undefined ? 2 : 1;
        const complaint = await tryCase(service, agent, kind, one);
        if (complaint !== undefined)
          complaints.push(`${complaint}\n  spec: ${JSON.stringify(one.spec).slice(0, 2_000)}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const shown = complaints.slice(0, SHOWN).join('\n');
    t.is(complaints.length, 0, `${kind.kind} of ${cases.length}, FUZZ_SEED=${SEED}:\n${shown}`);
  }
  t.log(`${sent} requests, seed ${SEED}`);
  t.true(sent >= CASES, `${sent} requests`);
});

function casesOf(t: ExecutionContext, kind: KindDefinition, tries: number): readonly Case[] {
  const schema = z.toJSONSchema(kind.schema.spec, {
    target: 'openapi-3.0',
    io: 'input',
    unrepresentable: 'any',
  }) as Schema;
  const cases: Case[] = [];
  let made = 0;
  const pair = fc.gen().map((g) => {
    const spec = generateSpec(g, kind, schema) as Record<string, unknown> | undefined;
    if (spec === undefined) return;
    // An alias beside what it stands for is judged against what was stored before, which no schema sees.
    if (kind.kind === 'Job' && 'timeout' in spec) delete spec['activeDeadlineSeconds'];
    if (kind.kind === 'TopUp') keepOwn(spec);
    made += 1;
    cases.push({ spec, wrong: undefined });
    const mutation = mutate(g, spec, schema);
    if (mutation !== undefined) cases.push({ spec: mutation.spec, wrong: mutation });
  });
  // Kinds with few fields have few mutations: more tries make up for it.
  let seed = SEED;
  while (cases.length < tries * 2 && made < tries * 4) {
    fc.sample(pair, { numRuns: tries, seed: seed++ });
    if (made === 0) break;
  }
  t.true(made >= tries * LEAST_MADE, `${kind.kind}: only ${made} of ${tries} specs came to be accepted`);
  return cases.slice(0, tries * 2);
}

/** Which origin customers may name, and which addresses are the service's own, a rule says and no schema. */
function keepOwn(spec: Record<string, unknown>): void {
  delete spec['origin'];
  for (const field of ['successURL', 'cancelURL']) if (String(spec[field]).startsWith('https:')) delete spec[field];
}

async function tryCase(
  service: Running,
  agent: Agent,
  kind: KindDefinition,
  { spec, wrong }: Case,
): Promise<string | undefined> {
  const answer = await rehearse(service, agent, kind, spec);
  if (answer.status >= 500) return `${answer.status}: ${JSON.stringify(answer.body)}`;
  if (wrong !== undefined) {
    const { field, what, loose } = wrong;
    if (answer.status !== 422) return `${what} at ${field} was answered ${answer.status}: ${message(answer)}`;
    const named = causesOf(answer).some((cause) => names(cause, field, loose));
    return named ? undefined : `${what} at ${field}: no cause names it: ${JSON.stringify(causesOf(answer))}`;
  }
  const missing = missingReferences(kind, spec);
  if (answer.status === 422 && missing.size > 0) {
    const others = causesOf(answer).filter((field) => !missing.has(field));
    return others.length === 0 ? undefined : `causes beyond what does not exist: ${JSON.stringify(others)}`;
  }
  if (answer.status !== 201) return `accepted by the schema, answered ${answer.status}: ${JSON.stringify(answer.body)}`;
  const shown = answer.body['spec'] as Record<string, unknown>;
  const lost = differences(spec, shown, '', new Set(NOT_SHOWN[kind.kind]));
  if (lost !== undefined) return `was not given back as it was sent: ${lost}`;
  // What is shown is a spec like any other, and means the same.
  const again = await rehearse(service, agent, kind, shown);
  if (again.status !== 201) return `its own answer was refused: ${JSON.stringify(again.body)}`;
  if (!isDeepStrictEqual(again.body['spec'], shown))
    return `its own answer reads otherwise: ${JSON.stringify(again.body['spec'])}`;
  return undefined;
}

/** Fields that name an object: in a new project nothing is there but what every project is born with. */
function missingReferences(kind: KindDefinition, spec: unknown): ReadonlySet<string> {
  const parsed = kind.schema.spec.safeParse(spec);
  if (!parsed.success || kind.references === undefined) return new Set();
  const object = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name: 'a', uid: '', generation: 1, creationTimestamp: '' },
    spec: parsed.data,
    status: undefined,
  } as ApiObject;
  return new Set(kind.references(object).map(({ field }) => field));
}

function names(cause: string, field: string, loose: boolean): boolean {
  if (cause === field || cause.startsWith(`${field}.`) || cause.startsWith(`${field}[`)) return true;
  return loose && (field.startsWith(`${cause}.`) || field.startsWith(`${cause}[`));
}

/** Where something that was sent is not what came back; undefined when all of it is there. */
function differences(sent: unknown, got: unknown, at: string, skip: ReadonlySet<string>): string | undefined {
  if (sent === null && got === undefined) return undefined;
  if (Array.isArray(sent)) {
    if (!Array.isArray(got) || got.length !== sent.length) return `${at}: ${JSON.stringify(got)}`;
    for (const [index, element] of sent.entries()) {
      const found = differences(element, got[index], `${at}[${index}]`, new Set());
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (typeof sent === 'object' && sent !== null) {
    if (typeof got !== 'object' || got === null) return `${at}: ${JSON.stringify(got)}`;
    for (const [name, member] of Object.entries(sent)) {
      if (skip.has(name)) continue;
      const found = differences(member, (got as Record<string, unknown>)[name], `${at}.${name}`, new Set());
      if (found !== undefined) return found;
    }
    return undefined;
  }
  // A bare name stands for an object with that name, a number for a quantity.
  if (typeof sent === 'string' && typeof got === 'object' && got !== null && 'name' in got && got.name === sent)
    return undefined;
  return sent === got || (typeof sent === 'number' && got === String(sent))
    ? undefined
    : `${at}: ${JSON.stringify(got)}`;
}

function causesOf({ body }: Answer): readonly string[] {
  const details = body['details'] as { readonly causes?: readonly { readonly field?: string }[] } | undefined;
  return (details?.causes ?? []).map(({ field }) => field ?? '');
}

function message({ body }: Answer): string {
  return JSON.stringify(body['message'] ?? body).slice(0, 500);
}

async function rehearse(service: Running, agent: Agent, kind: KindDefinition, spec: unknown): Promise<Answer> {
  const object = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name: 'fuzz' }, spec };
  const body = JSON.stringify(object);
  const place = kind.scope === 'project' ? 'namespaces/default/' : '';
  const base = kind.group === 'core' ? '/api/v1' : `/apis/${DEFAULT_API_GROUP}/${kind.version}`;
  const url = new URL(`${base}/${place}${kind.plural}?dryRun=All&fieldValidation=Strict`, service.url);
  const { status, text } = await post(url, service.client().key, body, agent);
  return { status, body: JSON.parse(text) as Readonly<Record<string, unknown>> };
}

/** Through node:http, since the load of this test is the service and not its client. */
function post(url: URL, key: string, body: string, agent: Agent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    asked.setTimeout(30_000, () => asked.destroy(new Error('no answer within 30 s')));
    asked.on('error', reject);
    asked.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString('utf8') }),
      );
    });
    asked.end(body);
  });
}
