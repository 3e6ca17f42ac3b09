/**
 * Finds the members of a body that a kind's schema does not know. zod drops what it does not know without a word; field
 * validation (decisions: Strict, Warn, Ignore) has to name it.
 *
 * Also Kubernetes' reading of `null`: a member that is null and need not be there is as good as absent. Clients
 * written in Go send such nulls.
 */
import { below } from './path.js';
import { isObject } from './safe-value.js';
import { ANY, matchesShape, type ObjectShape, type Shape } from './shape.js';

/** Most unknown members that one request is told about. */
export const MAX_UNKNOWN = 100;

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
      return Array.isArray(value) && shape.element.shape !== 'Any' ? dropFromList(shape.element, value) : value;
    case 'Union': {
      const fitting = shape.options.find((option) => matchesShape(option, value));
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

const ABSENT = Symbol('absent');

function dropFromObject(shape: ObjectShape, value: Record<string, unknown>): Record<string, unknown> {
  /** Members that count as absent, or in which something does. */
  const changes = new Map<string, unknown>();
  const { members, rest = ANY } = shape;
  // Of a value with many unknown members only those are looked at that the shape knows.
  for (const key of rest.shape === 'Any' ? members.keys() : Object.keys(value)) {
    if (!Object.hasOwn(value, key)) continue;
    const before = value[key];
    const request = members.get(key);
    const after =
      before === null && request?.nullIsAbsent === true ? ABSENT : dropNulls(request?.shape ?? rest, before);
    if (after !== before) changes.set(key, after);
  }
  if (changes.size === 0) return value;
  const kept = Object.entries(value).map(
    ([key, before]) => [key, changes.has(key) ? changes.get(key) : before] as const,
  );
  return Object.fromEntries(kept.filter(([, after]) => after !== ABSENT));
}

function collect(shape: Shape, value: unknown, path: string, found: string[]): void {
  if (typeof value !== 'object' || value === null || shape.shape === 'Any') return;
  switch (shape.shape) {
    case 'Lazy':
      collect(shape.resolve(), value, path, found);
      return;
    case 'List':
      if (!Array.isArray(value) || shape.element.shape === 'Any') return;
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
    // No more are told, whatever there is.
    if (found.length >= MAX_UNKNOWN) return;
    const request = shape.members.get(key);
    if (request === undefined && shape.rest === undefined) {
      found.push(below(path, key));
      continue;
    }
    const inner = request?.shape ?? shape.rest ?? ANY;
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
    if (!matchesShape(option, value)) continue;
    const unknown: string[] = [];
    collect(option, value, path, unknown);
    if (best === undefined || unknown.length < best.length) best = unknown;
    if (best.length === 0) return;
  }
  if (best !== undefined) found.push(...best);
}
