/**
 * The shape of a kind's schema: which members a value may have, how many elements its lists and maps may have, and where
 * null counts as absent. A schema is compiled once, so that a request costs one walk over its own members; `strict.ts` and
 * `sizes.ts` are those walks.
 */
import { z } from 'zod';
import { isObject } from './safe-value.js';
import { definitionOf, maximumOf, type Definition } from './zod-internals.js';

export type Shape =
  /** Anything may be below: scalars, free-form JSON, records of scalars. */
  | { readonly shape: 'Any' }
  | {
      readonly shape: 'Object';
      readonly members: ReadonlyMap<string, Member>;
      /** What further members are; undefined: there are none. */
      readonly rest: Shape | undefined;
      /** Members of a map at most. */
      readonly most: number | undefined;
    }
  | { readonly shape: 'List'; readonly element: Shape; readonly most: number | undefined }
  | { readonly shape: 'Union'; readonly options: readonly Shape[] }
  /** A schema that contains itself; resolved when a value gets there. */
  | { readonly shape: 'Lazy'; resolve(): Shape };

export type ObjectShape = Extract<Shape, { shape: 'Object' }>;

export interface Member {
  readonly shape: Shape;
  /** The member may be absent and may not be null: a null there counts as absent. */
  readonly nullIsAbsent: boolean;
}

export const ANY: Shape = { shape: 'Any' };

export function compileShape(schema: z.ZodType): Shape {
  return compile(schema, new Map());
}

/** Whether the value is of this sort, whatever is in it. */
export function matchesShape(shape: Shape, value: unknown): boolean {
  switch (shape.shape) {
    case 'Any':
      return typeof value !== 'object' || value === null;
    case 'Lazy':
      return matchesShape(shape.resolve(), value);
    case 'List':
      return Array.isArray(value);
    case 'Union':
      return shape.options.some((option) => matchesShape(option, value));
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
  const def = definitionOf(schema);
  if (WRAPPERS.has(def.type)) return compile(def['innerType'], seen);
  switch (def.type) {
    case 'object':
      return compileObject(schema, def, seen);
    case 'array':
      return list(compile(def['element'], seen), mostElements(def));
    case 'record': {
      const rest = compile(def['valueType'], seen);
      const most = mostMembers(schema);
      return rest.shape === 'Any' && most === undefined ? ANY : { shape: 'Object', members: new Map(), rest, most };
    }
    case 'union':
      return union(asList(def['options']).map((option) => compile(option, seen)));
    case 'pipe': {
      // A preprocess step says nothing about members; what it feeds does.
      const first = definitionOf(def['in']).type === 'transform' ? def['out'] : def['in'];
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
  const rest = catchall === undefined || definitionOf(catchall).type === 'never' ? undefined : compile(catchall, seen);
  const shape: Shape = { shape: 'Object', members, rest, most: undefined };
  seen.set(schema, shape);
  for (const [key, member] of Object.entries(def['shape'] ?? {})) {
    members.set(key, { shape: compile(member, seen), nullIsAbsent: mayBeAbsent(member) && !mayBeNull(member) });
  }
  return shape;
}

function list(element: Shape, most: number | undefined): Shape {
  return element.shape === 'Any' && most === undefined ? ANY : { shape: 'List', element, most };
}

/** The bound of `z.array(…).max(n)`. */
function mostElements(def: Definition): number | undefined {
  let most: number | undefined;
  for (const check of asList(def['checks'])) {
    const maximum = maximumOf(check);
    if (typeof maximum === 'number' && maximum < (most ?? Number.POSITIVE_INFINITY)) most = maximum;
  }
  return most;
}

/** The bound of `zMap`. */
function mostMembers(schema: unknown): number | undefined {
  const most = schema instanceof z.ZodType ? z.globalRegistry.get(schema)?.['maxProperties'] : undefined;
  return typeof most === 'number' ? most : undefined;
}

function union(options: readonly Shape[]): Shape {
  return options.every((option) => option.shape === 'Any') ? ANY : { shape: 'Union', options };
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
