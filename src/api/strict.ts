/**
 * Owns which members of a body a kind's schema knows. zod drops what it does not know without a word; field validation
 * (decisions: Strict, Warn, Ignore) has to name it. A schema is compiled once per kind into a tree of shapes, so that a
 * request costs one walk over its own members.
 *
 * Also owns Kubernetes' reading of `null`: a member that is null and need not be there is as good as absent. Clients
 * written in Go send such nulls.
 */
import type { z } from 'zod';
import { below } from './path.js';
import { isObject } from './safe-value.js';

export type Shape =
  /** Anything may be below: scalars, free-form JSON, records of scalars. */
  | { readonly shape: 'Any' }
  | { readonly shape: 'Object'; readonly members: ReadonlyMap<string, Member>; readonly rest: Shape | undefined }
  | { readonly shape: 'List'; readonly element: Shape }
  | { readonly shape: 'Union'; readonly options: readonly Shape[] }
  /** A schema that contains itself; resolved when a value gets there. */
  | { readonly shape: 'Lazy'; resolve(): Shape };

type ObjectShape = Extract<Shape, { shape: 'Object' }>;

interface Member {
  readonly shape: Shape;
  /** The member may be absent and may not be null: a null there counts as absent. */
  readonly nullIsAbsent: boolean;
}

const ANY: Shape = { shape: 'Any' };

/** Most unknown members that one request is told about. */
const MAX_UNKNOWN = 100;

export function compileShape(schema: z.ZodType): Shape {
  return compile(schema, new Map());
}

/** Paths of members that the shape does not know, below `base`. */
export function unknownFields(shape: Shape, value: unknown, base = ''): string[] {
  const found: string[] = [];
  collect(shape, value, base, found);
  return found;
}

/**
 * The value without the nulls that count as absent; the same value when there are none. The input is not changed.
 * Meant for the way of refusal: parse first, and only when that fails look for nulls and parse again.
 */
export function dropNulls(shape: Shape, value: unknown): unknown {
  switch (shape.shape) {
    case 'Any':
      return value;
    case 'Lazy':
      return dropNulls(shape.resolve(), value);
    case 'List':
      return Array.isArray(value) ? dropFromList(shape.element, value) : value;
    case 'Union': {
      const fitting = shape.options.find((option) => fits(option, value));
      return fitting === undefined ? value : dropNulls(fitting, value);
    }
    default:
      return isObject(value) ? dropFromObject(shape, value) : value;
  }
}

function dropFromList(element: Shape, values: readonly unknown[]): readonly unknown[] {
  const kept = values.map((value) => dropNulls(element, value));
  return kept.every((value, index) => value === values[index]) ? values : kept;
}

function dropFromObject(shape: ObjectShape, value: Record<string, unknown>): Record<string, unknown> {
  let changed = false;
  const kept: [string, unknown][] = [];
  for (const [key, before] of Object.entries(value)) {
    const member = shape.members.get(key);
    if (before === null && member?.nullIsAbsent === true) {
      changed = true;
      continue;
    }
    const after = dropNulls(member?.shape ?? shape.rest ?? ANY, before);
    changed ||= after !== before;
    kept.push([key, after]);
  }
  return changed ? Object.fromEntries(kept) : value;
}

function collect(shape: Shape, value: unknown, path: string, found: string[]): void {
  if (typeof value !== 'object' || value === null || shape.shape === 'Any') return;
  switch (shape.shape) {
    case 'Lazy':
      collect(shape.resolve(), value, path, found);
      return;
    case 'List':
      if (!Array.isArray(value)) return;
      for (let index = 0; index < value.length; index++) {
        const element: unknown = value[index];
        if (typeof element === 'object') collectElement(shape.element, element, path, index, found);
      }
      return;
    case 'Union':
      collectUnion(shape.options, value, path, found);
      return;
    case 'Object':
      if (isObject(value)) collectMembers(shape, value, path, found);
  }
}

/** Paths are built only where something is wrong: most elements are known through and through. */
function collectElement(shape: Shape, element: unknown, path: string, index: number, found: string[]): void {
  const before = found.length;
  collect(shape, element, '', found);
  if (found.length > before) rebase(found, before, below(path, index));
}

function collectMembers(shape: ObjectShape, value: Record<string, unknown>, path: string, found: string[]): void {
  for (const key in value) {
    const member = shape.members.get(key);
    if (member === undefined && shape.rest === undefined) {
      if (found.length < MAX_UNKNOWN) found.push(below(path, key));
      continue;
    }
    const inner = member?.shape ?? shape.rest ?? ANY;
    if (inner.shape === 'Any') continue;
    const before = found.length;
    collect(inner, value[key], '', found);
    if (found.length > before) rebase(found, before, below(path, key));
  }
}

function rebase(found: string[], from: number, base: string): void {
  for (let i = from; i < found.length; i++) {
    const path = found[i] ?? '';
    found[i] = path.startsWith('[') ? base + path : `${base}.${path}`;
  }
}

/** A member is unknown to a union when the option that knows most of the value does not know it. */
function collectUnion(options: readonly Shape[], value: unknown, path: string, found: string[]): void {
  let best: string[] | undefined;
  for (const option of options) {
    if (!fits(option, value)) continue;
    const unknown: string[] = [];
    collect(option, value, path, unknown);
    if (best === undefined || unknown.length < best.length) best = unknown;
    if (best.length === 0) return;
  }
  if (best !== undefined) found.push(...best);
}

function fits(shape: Shape, value: unknown): boolean {
  switch (shape.shape) {
    case 'Any':
      return typeof value !== 'object' || value === null;
    case 'Lazy':
      return fits(shape.resolve(), value);
    case 'List':
      return Array.isArray(value);
    case 'Union':
      return shape.options.some((option) => fits(option, value));
    default:
      return isObject(value);
  }
}

/** Only these wrap exactly one other schema and do not change which members are known. */
const WRAPPERS = new Set([
  'optional',
  'nullable',
  'default',
  'prefault',
  'readonly',
  'nonoptional',
  'catch',
  'success',
]);

/** `seen` holds shapes under way, for schemas that contain themselves by getters. */
function compile(schema: unknown, seen: Map<unknown, Shape>): Shape {
  const known = seen.get(schema);
  if (known !== undefined) return known;
  const def = defOf(schema);
  if (WRAPPERS.has(def.type)) return compile(def['innerType'], seen);
  switch (def.type) {
    case 'object':
      return compileObject(schema, def, seen);
    case 'array':
      return list(compile(def['element'], seen));
    case 'record': {
      const rest = compile(def['valueType'], seen);
      return rest.shape === 'Any' ? ANY : { shape: 'Object', members: new Map(), rest };
    }
    case 'union':
      return union(asList(def['options']).map((option) => compile(option, seen)));
    case 'pipe': {
      // A preprocess step says nothing about members; what it feeds does.
      const first = defOf(def['in']).type === 'transform' ? def['out'] : def['in'];
      return compile(first, seen);
    }
    case 'lazy': {
      const getter = def['getter'];
      if (typeof getter !== 'function') return ANY;
      let resolved: Shape | undefined;
      const shape: Shape = { shape: 'Lazy', resolve: () => (resolved ??= compile(getter(), seen)) };
      seen.set(schema, shape);
      return shape;
    }
    default:
      return ANY;
  }
}

function compileObject(schema: unknown, def: Definition, seen: Map<unknown, Shape>): Shape {
  const members = new Map<string, Member>();
  const catchall = def['catchall'];
  const rest = catchall === undefined || defOf(catchall).type === 'never' ? undefined : compile(catchall, seen);
  const shape: Shape = { shape: 'Object', members, rest };
  seen.set(schema, shape);
  for (const [key, member] of Object.entries(def['shape'] ?? {})) {
    members.set(key, { shape: compile(member, seen), nullIsAbsent: mayBeAbsent(member) && !mayBeNull(member) });
  }
  return shape;
}

function list(element: Shape): Shape {
  return element.shape === 'Any' ? ANY : { shape: 'List', element };
}

function union(options: readonly Shape[]): Shape {
  return options.every((option) => option.shape === 'Any') ? ANY : { shape: 'Union', options };
}

interface Definition {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** zod keeps a schema's definition under `def`; all that is known of it here is that `type` is a word. */
function defOf(schema: unknown): Definition {
  const def = isSchema(schema) ? schema.def : undefined;
  return isDefinition(def) ? def : { type: 'unknown' };
}

function isSchema(schema: unknown): schema is { readonly def: unknown } {
  return typeof schema === 'object' && schema !== null && 'def' in schema;
}

function isDefinition(def: unknown): def is Definition {
  return typeof def === 'object' && def !== null && 'type' in def && typeof def.type === 'string';
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function mayBeAbsent(schema: unknown): boolean {
  return isParser(schema) && schema.safeParse(undefined).success;
}

function mayBeNull(schema: unknown): boolean {
  return isParser(schema) && schema.safeParse(null).success;
}

function isParser(schema: unknown): schema is { safeParse(value: unknown): { readonly success: boolean } } {
  return (
    typeof schema === 'object' && schema !== null && 'safeParse' in schema && typeof schema.safeParse === 'function'
  );
}
