/**
 * No body costs more than in proportion to its length. What is counted is work and not time: how often each block of our own
 * code and of zod runs (V8's precise coverage), and the bytes that are allocated. Twice the elements may cost twice as much.
 * `ops/bench/micro/hostile-bodies.ts` has the same bodies at full length and on the clock.
 */
import type { HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import test from 'ava';
import { parseBody, parseListBody } from '../../src/api/json.js';
import { parseLabelSelector } from '../../src/api/selectors/label.js';
import { parseFieldSelector } from '../../src/api/selectors/field.js';
import { readYaml } from '../../src/api/yaml.js';
import { KINDS } from '../../src/kinds/index.js';
import { prepareCreate } from '../../src/kinds/write/create.js';
import { preparePatch, type ObjectPatch } from '../../src/kinds/write/patch.js';
import type { WriteContext } from '../../src/kinds/write/prepared.js';
import { contextAt } from '../kinds/decide.js';

const FEW = 250;
const MANY = FEW * 4;
/** Of four times the elements; what does not depend on them only makes it smaller. */
const MOST = 4.6;

const context: WriteContext = {
  context: contextAt(),
  fieldValidation: 'Strict',
  fieldManager: 'test',
  dryRun: true,
  duplicates: [],
};

const job = KINDS.find(({ kind }) => kind === 'Job') ?? KINDS[0];
if (job === undefined) throw new Error('no kinds');
const address = { org: 'o', kind: 'Job', project: 'p', name: 'n' };

function create(text: string): void {
  const parsed = parseBody(Buffer.from(text), 'json');
  if (parsed.outcome === 'Parsed' && job)
    prepareCreate(job, address, parsed.value, { ...context, duplicates: parsed.duplicates });
}

function patch(type: 'merge' | 'json', text: string): void {
  if (!job) return;
  const made = prepareCreate(job, address, { spec: { command: ['true'] } }, context);
  const parsed = type === 'json' ? parseListBody(Buffer.from(text), 'json') : parseBody(Buffer.from(text), 'json');
  if (parsed.outcome === 'Refused' || made.outcome === 'Refused') return;
  const given = (type === 'json' ? { type, operations: parsed.value } : { type, patch: parsed.value }) as ObjectPatch;
  preparePatch(job, made.object, given, context);
}

const filled = (open: string, count: number, part: (i: number) => string, close: string): string =>
  open + Array.from({ length: count }, (_, i) => part(i)).join(',') + close;

type Family = readonly [name: string, run: (count: number) => void];

const BODIES: readonly (readonly [string, (count: number) => string])[] = [
  ['labels', (n) => filled('{"metadata":{"labels":{', n, (i) => `"k${i}":"-"`, '}},"spec":{}}')],
  ['annotations', (n) => filled('{"metadata":{"annotations":{', n, (i) => `"k${i}":"v"`, '}},"spec":{}}')],
  ['env', (n) => filled('{"spec":{"env":[', n, (i) => `{"name":"A${i}","value":""}`, ']}}')],
  ['args', (n) => filled('{"spec":{"args":[', n, (i) => `"${i}"`, ']}}')],
  ['volumes', (n) => filled('{"spec":{"volumes":[', n, (i) => `{"volume":"v","mountPath":"/a/${i}"}`, ']}}')],
  ['secrets', (n) => filled('{"spec":{"secrets":[', n, (i) => `{"name":"a${i}","x":1}`, ']}}')],
  ['unknown fields', (n) => filled('{"spec":{', n, (i) => `"u${i}":{"a":[]}`, '}}')],
  ['unknown members', (n) => filled('{', n, (i) => `"u${i}":null`, '}')],
  ['duplicates', (n) => filled('{"spec":{"u":[', n, (i) => `{"a${i}":1,"a${i}":2}`, ']}}')],
  ['escapes', (n) => filled('{"spec":{"u":{', n, (i) => `"\\u0041${i}":"\\ud800"`, '}}}')],
  ['malformed', (n) => filled('{"spec":{"u":[', n, () => '[1e5,"a"]', ']}')],
];

const into = (n: number, op: (i: number) => string): string =>
  filled(
    `[{"op":"add","path":"/metadata/annotations","value":${filled('{', n, (i) => `"k${i}":""`, '}')}},`,
    Math.min(n, 999),
    op,
    ']',
  );

const FAMILIES: readonly Family[] = [
  ...BODIES.flatMap(([name, text]): Family[] => [
    [`create with ${name}`, (n) => create(text(n))],
    [`merge patch with ${name}`, (n) => patch('merge', text(n))],
  ]),
  [
    'JSON patch of adds',
    (n) =>
      patch(
        'json',
        into(n, (i) => `{"op":"add","path":"/metadata/annotations/x${i}","value":""}`),
      ),
  ],
  [
    'JSON patch of removes',
    (n) =>
      patch(
        'json',
        into(n, (i) => `{"op":"remove","path":"/metadata/annotations/k${i}"}`),
      ),
  ],
  [
    'JSON patch of moves of all',
    (n) =>
      patch(
        'json',
        into(
          n,
          (i) =>
            `{"op":"move","from":"/metadata/${i % 2 ? 'b' : 'annotations'}","path":"/metadata/${i % 2 ? 'annotations' : 'b'}"}`,
        ),
      ),
  ],
  [
    'JSON patch of tests',
    (n) =>
      patch(
        'json',
        filled('[', n, () => '{"op":"test","path":"/kind","value":"Job"}', ']'),
      ),
  ],
  ['label selector', (n) => void parseLabelSelector(`a in (${'b,'.repeat(n)}c)`)],
  ['field selector', (n) => void parseFieldSelector('a=b,'.repeat(n), new Map())],
  ['YAML map', (n) => void readYaml(Array.from({ length: n }, (_, i) => `k${i}: v\n`).join(''))],
  ['YAML list', (n) => void readYaml(Array.from({ length: n }, (_, i) => `- {a: ${i}, b: [c]}\n`).join(''))],
  ['YAML flow', (n) => void readYaml(filled('[', n, (i) => `{a: ${i}}`, ']'))],
  ['YAML text', (n) => void readYaml(`a: |\n${'  text: "x" # \n'.repeat(n)}`)],
];

/** Runs of all blocks of our code, of zod and of yaml. */
async function workOf(session: Session, run: () => void): Promise<number> {
  await session.post('Profiler.takePreciseCoverage'); // forgets what was before
  run();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  let sum = 0;
  for (const { url, functions } of result) {
    if (!/\/dist\/src\/|\/node_modules\/(?:zod|yaml)\//.test(url)) continue;
    for (const { ranges } of functions) for (const { count } of ranges) sum += count;
  }
  return sum;
}

function sizeOf(node: HeapProfiler.SamplingHeapProfileNode): number {
  return node.children.reduce((sum, child) => sum + sizeOf(child), node.selfSize);
}

/** Bytes allocated, whether they live on or not; an estimate. */
async function bytesOf(session: Session, run: () => void): Promise<number> {
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 4096,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  run();
  const { profile } = await session.post('HeapProfiler.stopSampling');
  return sizeOf(profile.head);
}

test.serial('four times the elements cost no more than four times the work', async (t) => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  for (const [name, run] of FAMILIES) {
    run(FEW); // what is made once is made
    const few = await workOf(session, () => run(FEW));
    const many = await workOf(session, () => run(MANY));
    t.true(many <= few * MOST, `${name}: ${few} and ${many}`);
  }
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
});

test.serial('nor more than four times the memory', async (t) => {
  const session = new Session();
  session.connect();
  for (const [name, run] of FAMILIES) {
    run(FEW);
    const few = await bytesOf(session, () => run(FEW * 4));
    const many = await bytesOf(session, () => run(MANY * 4));
    t.true(many <= few * MOST + 2 ** 20, `${name}: ${few} and ${many} bytes`);
  }
  session.disconnect();
});

test('blanks without end in a selector are passed over once', (t) => {
  // A pattern that began again at each blank would need an hour for these.
  t.is(parseLabelSelector(`a${' '.repeat(3_000_000)}`).outcome, 'Selector');
  const many = parseLabelSelector('a,'.repeat(101).slice(0, -1));
  t.regex(many.outcome === 'Refused' ? many.refusal.message : '', /at most 100 requirements/);
});
