/**
 * Prints what the JavaScript of a write costs for bodies that were made to cost much: each as long as a body may be (3 MiB, or
 * as many values), of one sort of trouble. The figure is the processor time beyond `JSON.parse` of the same text, in ms, which the event loop
 * is held for; the bound is 50 ms on a quiet machine. Run it with
 * `npx tsc && node dist/ops/bench/micro/hostile-bodies.js`.
 */
import { decodeObject, encodeObject } from '../../../src/api/encode.js';
import { measure } from '../../../src/api/json-scan.js';
import { parseBody, parseListBody } from '../../../src/api/json.js';
import type { ApiObject } from '../../../src/api/object.js';
import { MAX_VALUES } from '../../../src/api/safe-value.js';
import { parseLabelSelector } from '../../../src/api/selectors/label.js';
import { kindByName } from '../../../src/kinds/index.js';
import { prepareCreate } from '../../../src/kinds/write/create.js';
import { preparePatch, type ObjectPatch } from '../../../src/kinds/write/patch.js';
import type { WriteContext } from '../../../src/kinds/write/prepared.js';

const BYTES = 3 * 1024 * 1024;
const ROUNDS = 5;
const BOUND_MS = 50;

const context: WriteContext = {
  context: {
    now: Date.parse('2026-01-02T03:04:05Z'),
    uid: () => 'uid',
    randomBytes: (length) => new Uint8Array(length),
  },
  fieldValidation: 'Strict',
  fieldManager: 'bench',
  dryRun: true,
  duplicates: [],
};

const job = kindByName('Job');
const call = kindByName('FunctionCall');
if (job === undefined || call === undefined) throw new Error('no such kind');
const address = { org: 'o', kind: 'Job', project: 'p', name: 'n' };

/** As many copies of the part as fit between the ends, and as a body may have values; `i` counts. */
function filled(open: string, part: (i: number) => string, close: string, most = MAX_VALUES - 10): string {
  const parts: string[] = [];
  let size = open.length + close.length;
  let values = 0;
  for (let i = 0; ; i++) {
    const next = part(i);
    size += next.length + 1;
    values += measure(Buffer.from(next)).values + 1;
    if (size > BYTES || values > most) break;
    parts.push(next);
  }
  return `${open}${parts.join(',')}${close}`;
}

/** Long enough that 3 MiB are no more values than a body may have. */
const longName = (i: number): string => `k${i}`.padEnd(56, 'x');

const IN_METADATA = '{"metadata":{"name":"n",';
const bodies: readonly (readonly [name: string, text: string])[] = [
  ['more members than a body may have', filled('{"spec":{', (i) => `"u${i}":0`, '}}', BYTES)],
  ['more elements than a body may have', filled('{"spec":{"u":[', () => '[]', ']}}', BYTES)],
  ['labels', filled(`${IN_METADATA}"labels":{`, (i) => `"${longName(i)}":""`, '}},"spec":{}}')],
  ['annotations', filled(`${IN_METADATA}"annotations":{`, (i) => `"${longName(i)}":""`, '}},"spec":{}}')],
  ['finalizers', filled(`${IN_METADATA}"finalizers":[`, (i) => `"a/${i}"`, ']},"spec":{}}')],
  ['env', filled('{"spec":{"env":[', (i) => `{"name":"A${longName(i)}"}`, ']}}')],
  ['env of numbers', filled('{"spec":{"env":[', () => '0', ']}}')],
  ['args', filled('{"spec":{"args":[', () => '""', ']}}')],
  ['secrets, a union', filled('{"spec":{"secrets":[', () => '{}', ']}}')],
  ['unknown fields', filled('{"spec":{', (i) => `"${longName(i)}":0`, '}}')],
  ['unknown members', filled('{', (i) => `"${longName(i)}":0`, '}')],
  ['unknown empty lists', filled('{"spec":{"u":[', () => '[]', ']}}')],
  ['a duplicate beside empty lists', filled('{"a":1,"a":2,"spec":{"u":[', () => '[]', ']}}')],
  ['a duplicate beside members', filled('{"a":1,"a":2,"spec":{', (i) => `"${longName(i)}":0`, '}}')],
  ['duplicates', filled('{"spec":{', () => `"a":"${'x'.repeat(56)}"`, '}}')],
  ['escapes', filled('{"spec":{"args":[', () => '"\\u0041"', ']}}')],
  ['escapes in names', filled('{"spec":{"u":{', (i) => `"\\u0041${longName(i)}":0`, '}}}')],
  ['cut off behind empty lists', filled('{"spec":{"u":[', () => '[]', ']}')],
  ['cut off behind members', filled('{"spec":{', (i) => `"${longName(i)}":0`, '}')],
  ['nulls', filled('{"spec":{"env":[', () => 'null', ']}}')],
  ['status', filled('{"spec":{},"status":{', (i) => `"${longName(i)}":0`, '}}')],
  ['one text', `{"spec":{"image":"${'x'.repeat(BYTES - 40)}"}}`],
  ['64 levels', filled('{"spec":{"u":[', () => `${'['.repeat(60)}${']'.repeat(60)}`, ']}}')],
];

function cost(work: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    const started = performance.now();
    work();
    const took = performance.now() - started;
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, took, (user + system) / 1000);
  }
  return best;
}

function parsing(text: string): number {
  return cost(() => {
    try {
      JSON.parse(text);
    } catch {
      // Malformed on purpose.
    }
  });
}

let worst = 0;
function tell(name: string, ms: number): void {
  worst = Math.max(worst, ms);
  process.stdout.write(`${ms.toFixed(1).padStart(8)} ms  ${name}${ms > BOUND_MS ? '  <- above the bound' : ''}\n`);
}

function create(text: string): void {
  const parsed = parseBody(Buffer.from(text), 'json');
  if (parsed.outcome === 'Refused' || job === undefined) return;
  const made = prepareCreate(job, address, parsed.value, { ...context, duplicates: parsed.duplicates });
  if (made.outcome === 'Prepared') encodeObject(made.object);
}

const made = prepareCreate(job, address, { metadata: { name: 'n' }, spec: { command: ['true'] } }, context);
if (made.outcome === 'Refused') throw new Error(made.refusal.message);
const current: ApiObject = decodeObject(encodeObject(made.object));

function patch(type: 'merge' | 'json', text: string): void {
  if (job === undefined) return;
  const parsed = type === 'json' ? parseListBody(Buffer.from(text), 'json') : parseBody(Buffer.from(text), 'json');
  if (parsed.outcome === 'Refused') return;
  const given = (type === 'json' ? { type, operations: parsed.value } : { type, patch: parsed.value }) as ObjectPatch;
  preparePatch(job, current, given, { ...context, duplicates: parsed.duplicates });
}

for (const [name, text] of bodies) {
  const base = parsing(text);
  tell(`create: ${name}`, cost(() => create(text)) - base);
  tell(`merge patch: ${name}`, cost(() => patch('merge', text)) - base);
}

const map = filled('[{"op":"add","path":"/metadata/annotations","value":{', (i) => `"${longName(i)}":""`, '}}').slice(
  0,
  BYTES / 2,
);
const whole = `${map.slice(0, map.lastIndexOf(','))}}}`;
const patches: readonly (readonly [string, string])[] = [
  [
    'adds into one map',
    `${whole},${Array.from({ length: 999 }, (_, i) => `{"op":"add","path":"/metadata/annotations/x${i}","value":""}`).join(',')}]`,
  ],
  [
    'adds at the front of a list',
    `${filled('[{"op":"add","path":"/spec/args","value":[', () => '0', ']}')},${Array.from({ length: 999 }, () => '{"op":"add","path":"/spec/args/0","value":0}').join(',')}]`,
  ],
  [
    'moves of one map',
    `${whole},${Array.from({ length: 499 }, (_, i) => `{"op":"move","from":"/metadata/${i === 0 ? 'annotations' : `a${i - 1}`}","path":"/metadata/a${i}"}`).join(',')}]`,
  ],
  [
    'copies of one map',
    `${whole},${Array.from({ length: 499 }, (_, i) => `{"op":"copy","from":"/metadata/annotations","path":"/metadata/a${i}"}`).join(',')}]`,
  ],
  ['no operations', filled('[', () => '0', ']')],
];
for (const [name, text] of patches) tell(`JSON patch: ${name}`, cost(() => patch('json', text)) - parsing(text));

const LONGEST_URL = 32 * 1024;
const selectors: readonly (readonly [string, string])[] = [
  ['blanks', `a${' '.repeat(LONGEST_URL)}`],
  ['requirements', 'a,'.repeat(LONGEST_URL / 2).slice(0, -1)],
  ['values', `a in (${'b,'.repeat(LONGEST_URL / 2)})`],
  ['signs', '!'.repeat(LONGEST_URL)],
];
const objects = Array.from({ length: 10_000 }, (_, i) => ({ a: String(i) }));
for (const [name, text] of selectors) {
  tell(
    `label selector over 10,000 objects: ${name}`,
    cost(() => {
      const parsed = parseLabelSelector(text);
      if (parsed.outcome === 'Selector') for (const labels of objects) parsed.selector.matches(labels);
    }),
  );
}
process.stdout.write(`worst: ${worst.toFixed(1)} ms; bound: ${BOUND_MS} ms\n`);
