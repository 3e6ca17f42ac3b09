/**
 * How the rules of one kind are told as a table and held against it: both sides of every limit, every immutable,
 * raise-only and mutable field. A path is written as in a cause: `spec.lifecycle.idleTimeout`, `spec.env[0].name`.
 */
import type { ExecutionContext, TestFn } from 'ava';
import type { ApiObject } from '../../../src/api/object.js';
import type { Cause } from '../../../src/api/refusal.js';
import type { KindDefinition } from '../../../src/kinds/kind.js';
import type { DecisionContext } from '../../../src/kinds/machine.js';
import { apiVersionOf } from '../../../src/kinds/versions.js';
import { prepareCreate } from '../../../src/kinds/write/create.js';
import type { Prepared, RefusedWrite, WriteContext } from '../../../src/kinds/write/prepared.js';
import { prepareReplace } from '../../../src/kinds/write/replace.js';

/** One change to the least spec: `[path, value]`, or several that belong together. `undefined` removes the field. */
export type Change = readonly [path: string, value: unknown];

export interface Limit {
  readonly rule: string;
  /** Accepted: the last value within the limit. */
  readonly within: readonly Change[];
  /** Refused: the first value beyond it. */
  readonly beyond: readonly Change[];
  /** Field of the cause; the path of the first change of `beyond` when absent. */
  readonly field?: string;
  /** No other field is named, and this one once. */
  readonly alone?: true;
}

export interface Rules {
  readonly kind: KindDefinition;
  /** The least spec that is accepted. */
  readonly least: Readonly<Record<string, unknown>>;
  /** What a spec with nothing but what it must has after defaulting: path → value. */
  readonly defaults: readonly Change[];
  readonly limits: readonly Limit[];
  /** From the first value to the second, and with it what would not fit any more: refused with FieldImmutable. */
  readonly immutable: readonly (readonly [path: string, from: unknown, to: unknown, ...along: Change[]])[];
  /** From the first value to the second: accepted. */
  readonly mutable: readonly (readonly [path: string, from: unknown, to: unknown])[];
  /** Accepted from low to high, refused from high to low and when it is removed. */
  readonly raiseOnly: readonly (readonly [path: string, low: unknown, high: unknown])[];
}

const MOMENT: DecisionContext = {
  now: Date.parse('2026-01-02T03:04:05Z'),
  uid: () => '00000000-0000-4000-8000-000000000000',
  randomBytes: (size) => Buffer.alloc(size, 7),
};

const CONTEXT: WriteContext = {
  context: MOMENT,
  fieldValidation: 'Strict',
  fieldManager: 'rules',
  dryRun: true,
  duplicates: [],
};

export function holdRules(test: TestFn, rules: Rules): void {
  const { kind, least } = rules;

  test(`${kind.kind}: the least spec is accepted and gets its defaults`, (t) => {
    const made = accepted(t, create(kind, least));
    for (const [path, value] of rules.defaults) t.deepEqual(at(made, path), value, path);
  });

  for (const { rule, within, beyond, field, alone } of rules.limits) {
    test(`${kind.kind}: ${rule}`, (t) => {
      accepted(t, create(kind, changed(least, within)));
      const wanted = field ?? beyond[0]?.[0] ?? '';
      const causes = refusedWith(t, create(kind, changed(least, beyond)));
      t.true(
        causes.some((cause) => cause.field === wanted),
        `no cause names ${wanted}: ${JSON.stringify(causes)}`,
      );
      if (alone === true) t.is(causes.length, 1, JSON.stringify(causes));
    });
  }

  for (const [path, from, to, ...along] of rules.immutable) {
    test(`${kind.kind}: ${path} never changes`, (t) => {
      const result = update(t, rules, [[path, from]], [[path, to], ...along]);
      t.is(result.outcome, 'Refused');
      if (result.outcome !== 'Refused') return;
      t.is(result.refusal.code, 'FieldImmutable');
      const named = (result.refusal.causes ?? []).some(({ field }) => path.startsWith(field ?? '') || field === path);
      t.true(named, JSON.stringify(result.refusal.causes));
    });
  }

  for (const [path, from, to] of rules.mutable) {
    test(`${kind.kind}: ${path} may change`, (t) => {
      const object = accepted(t, update(t, rules, [[path, from]], [[path, to]]));
      t.is(object.metadata.generation, 2);
    });
  }

  for (const [path, low, high] of rules.raiseOnly) {
    test(`${kind.kind}: ${path} may only be raised`, (t) => {
      accepted(t, update(t, rules, [[path, low]], [[path, high]]));
      for (const lower of [low, undefined]) {
        const causes = refusedWith(t, update(t, rules, [[path, high]], [[path, lower]]));
        const cause = causes.find(({ field }) => field === path);
        t.truthy(cause);
        if (lower === undefined)
          t.regex(cause?.message ?? '', /may only be raised and not removed|Invalid value: false/);
      }
    });
  }

  test(`${kind.kind}: every field that is declared immutable or raise-only is in its table`, (t) => {
    const covers = (declared: string, path: string): boolean =>
      path === declared || path.startsWith(`${declared}.`) || path.startsWith(`${declared}[`);
    const missing = [
      ...kind.schema.immutable.filter((declared) => !rules.immutable.some(([path]) => covers(declared, path))),
      ...kind.schema.raiseOnly.filter((declared) => !rules.raiseOnly.some(([path]) => covers(declared, path))),
    ];
    t.deepEqual(missing, []);
  });
}

/** Creates (as a dry run, so that a kind that is not built yet is checked as well). */
function create(kind: KindDefinition, spec: unknown): Prepared | RefusedWrite {
  const project = kind.scope === 'project' ? 'default' : '';
  const address = { org: 'acme', kind: kind.kind, project, name: 'a' };
  const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name: 'a' }, spec };
  return prepareCreate(kind, address, body, CONTEXT);
}

function update(
  t: ExecutionContext,
  { kind, least }: Rules,
  before: readonly Change[],
  after: readonly Change[],
): Prepared | RefusedWrite {
  const current = accepted(t, create(kind, changed(least, before)));
  const spec = changed(current.spec, after);
  return prepareReplace(kind, current, { ...current, spec }, { ...CONTEXT, currentVersion: 1 });
}

function accepted(t: ExecutionContext, result: Prepared | RefusedWrite): ApiObject {
  if (result.outcome === 'Prepared') {
    t.pass();
    return result.object;
  }
  t.fail(JSON.stringify(result.refusal));
  throw new Error('refused');
}

function refusedWith(t: ExecutionContext, result: Prepared | RefusedWrite): readonly Cause[] {
  if (result.outcome === 'Refused') return result.refusal.causes ?? [];
  t.fail(`accepted: ${JSON.stringify(result.object.spec)}`);
  throw new Error('accepted');
}

function steps(path: string): (string | number)[] {
  return path
    .replace(/^spec\.?/, '')
    .split(/[.[\]]+/)
    .filter((step) => step !== '')
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

function at(object: ApiObject, path: string): unknown {
  return steps(path).reduce<unknown>(
    (value, step) => (value as Record<string | number, unknown> | undefined)?.[step],
    object.spec,
  );
}

function changed(spec: unknown, changes: readonly Change[]): Record<string, unknown> {
  const copy = structuredClone(spec) as Record<string, unknown>;
  for (const [path, value] of changes) {
    const way = steps(path);
    const last = way.pop();
    if (last === undefined) throw new Error(`no field in ${path}`);
    let place = copy as Record<string | number, unknown>;
    way.forEach((step, i) => {
      const next = typeof (way[i + 1] ?? last) === 'number' ? [] : {};
      place = (place[step] ??= next) as Record<string | number, unknown>;
    });
    if (value === undefined) delete place[last];
    else place[last] = value;
  }
  return copy;
}
