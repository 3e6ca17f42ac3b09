/**
 * Finds lists and maps that have more elements than their schema allows, before anything looks at the elements: zod reads
 * every element of a list and then its length, so a list of a million wrong elements would cost a million complaints.
 * The walk visits each element of what is within its bound once, and nothing of what is not.
 */
import { sayItems } from './causes.js';
import type { Cause } from './refusal.js';
import { fieldPath } from './path.js';
import { isObject } from './safe-value.js';
import { matchesShape, type Shape } from './shape.js';

/** One cause for each list or map that is too long; `base` is the path of the value. */
export function tooMany(shape: Shape, value: unknown, base = ''): Cause[] {
  const found: Cause[] = [];
  visit(shape, value, [], (keys, size, most) => {
    found.push({
      field: fieldPath(base, keys),
      reason: 'FieldValueTooMany',
      message: `Too many: ${size}must have at most ${sayItems(most)}`,
    });
  });
  return found;
}

/** `size` is the text before the rule, or empty: the members of a map are counted no further than its bound. */
type Complain = (keys: readonly PropertyKey[], size: string, most: number) => void;

function visit(shape: Shape, value: unknown, keys: PropertyKey[], complain: Complain): void {
  if (typeof value !== 'object' || value === null) return;
  switch (shape.shape) {
    case 'Any':
      return;
    case 'Lazy':
      return visit(shape.resolve(), value, keys, complain);
    case 'List':
      if (!Array.isArray(value)) return;
      if (shape.most !== undefined && value.length > shape.most) return complain(keys, `${value.length}: `, shape.most);
      if (shape.element.shape === 'Any') return;
      for (let index = 0; index < value.length; index++) {
        keys.push(index);
        visit(shape.element, value[index], keys, complain);
        keys.pop();
      }
      return;
    case 'Union':
      return visitUnion(shape.options, value, keys, complain);
    default:
      if (isObject(value)) visitMembers(shape, value, keys, complain);
  }
}

/** Too long for a union is what is too long for each option that it fits; the first one says it. */
function visitUnion(options: readonly Shape[], value: unknown, keys: PropertyKey[], complain: Complain): void {
  let first: Shape | undefined;
  for (const option of options) {
    if (!matchesShape(option, value)) continue;
    let complaints = 0;
    visit(option, value, keys, () => (complaints += 1));
    if (complaints === 0) return;
    first ??= option;
  }
  if (first !== undefined) visit(first, value, keys, complain);
}

function visitMembers(
  { members, rest, most }: Extract<Shape, { shape: 'Object' }>,
  value: Readonly<Record<string, unknown>>,
  keys: PropertyKey[],
  complain: Complain,
): void {
  if (most !== undefined && hasMore(value, most)) return complain(keys, '', most);
  // By the value's own members: most have few of those that the schema knows.
  for (const key in value) {
    const shape = members.get(key)?.shape ?? rest;
    if (shape === undefined || shape.shape === 'Any') continue;
    keys.push(key);
    visit(shape, value[key], keys, complain);
    keys.pop();
  }
}

function hasMore(value: Readonly<Record<string, unknown>>, most: number): boolean {
  let count = 0;
  for (const _ in value) if (++count > most) return true;
  return false;
}
