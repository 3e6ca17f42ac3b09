/**
 * Which objects of a range a list or watch shows: label and field selectors, and the projects that the caller may
 * see. What the range itself narrows (one name, one project) is not tested again, so that such a watch parses nothing.
 */
import { RefusalError } from '../../src/api/refusal.js';
import type { ApiObject } from '../../src/api/object.js';
import { parseFieldSelector, type FieldReader, type FieldSelector } from '../../src/api/selectors/field.js';
import { EVERYTHING, parseLabelSelector, type LabelSelector } from '../../src/api/selectors/label.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Exchange } from '../exchange.js';

export interface Selection {
  /** Everything in the range is shown. */
  readonly all: boolean;
  /** Exact values that narrow the read itself. */
  readonly name: string | undefined;
  readonly project: string | undefined;
  shows(object: ApiObject): boolean;
}

type Test = (object: ApiObject) => boolean;
type Reader = FieldReader<ApiObject>;

function textAt(part: 'spec' | 'status', field: string): Reader {
  return (object) => {
    const value = (object[part] as Readonly<Record<string, unknown>> | undefined)?.[field];
    return typeof value === 'string' ? value : undefined;
  };
}

const COMMON: readonly (readonly [string, Reader])[] = [
  ['metadata.name', (object) => object.metadata.name],
  ['metadata.namespace', (object) => object.metadata.namespace],
  ['status.phase', textAt('status', 'phase')],
  ['spec.state', textAt('spec', 'state')],
];

const readers = new WeakMap<KindDefinition, ReadonlyMap<string, Reader>>();

function readersOf(kind: KindDefinition): ReadonlyMap<string, Reader> {
  let known = readers.get(kind);
  if (known === undefined) readers.set(kind, (known = new Map([...COMMON, ...Object.entries(kind.selectableFields)])));
  return known;
}

function labelsOf(x: Exchange): LabelSelector {
  const text = x.hasQuery ? (x.query.get('labelSelector') ?? '') : '';
  if (text === '') return EVERYTHING;
  const read = parseLabelSelector(text);
  if (read.outcome === 'Refused') throw new RefusalError(read.refusal);
  return read.selector;
}

function fieldsOf(x: Exchange, kind: KindDefinition): FieldSelector<ApiObject> | undefined {
  const text = x.hasQuery ? (x.query.get('fieldSelector') ?? '') : '';
  if (text === '') return undefined;
  const read = parseFieldSelector(text, readersOf(kind));
  if (read.outcome === 'Refused') throw new RefusalError(read.refusal);
  return read.selector;
}

/** `project` is the one in the path; `visible` cuts a list over every project to what the caller may see. */
export function readSelection(
  x: Exchange,
  kind: KindDefinition,
  project: string | undefined,
  visible: readonly string[] | undefined,
): Selection {
  const tests: Test[] = [];
  if (visible !== undefined) tests.push(inProjects(kind, visible));
  const labels = labelsOf(x);
  if (!labels.everything) tests.push((object) => labels.matches(object.metadata.labels));
  const fields = fieldsOf(x, kind);
  const name = fields?.exact('metadata.name');
  const within = project === undefined && kind.scope === 'project' ? fields?.exact('metadata.namespace') : undefined;
  const narrowed = new Map([
    ['metadata.name', name],
    ['metadata.namespace', within],
  ]);
  const tested = fields?.terms.some(({ field, operator, value }) => operator !== '=' || narrowed.get(field) !== value);
  if (fields !== undefined && tested === true) tests.push((object) => fields.matches(object));
  return { all: tests.length === 0, name, project: within, shows: (object) => tests.every((test) => test(object)) };
}

function inProjects(kind: KindDefinition, visible: readonly string[]): Test {
  const projects = new Set(visible);
  if (kind.scope === 'org') return (object) => projects.has(object.metadata.name);
  return (object) => projects.has(object.metadata.namespace ?? '');
}
