/**
 * Applies a JSON Patch (RFC 6902). The target is never changed: parts that the patch does not touch are shared with it, so
 * `===` tells which parts the patch left alone. What the operations may cost in all is bounded (`draft.ts`).
 *
 * This is our own because patches come from outside and meet objects with free keys (labels, environment): pointers must
 * reach own members only, and values must be copied whatever they are called. The `rfc6902` package follows inherited
 * members (`/toString/x` writes to a built-in function) and takes `{"constructor":"function Array() …","length":4e9}`
 * for an array of that length; it serves as the oracle of our tests instead.
 */
import { equalJson } from '../equal.js';
import type { Cause, Refusal } from '../refusal.js';
import { depthOf, isObject, MAX_DEPTH } from '../safe-value.js';
import { Misfit, PatchDraft, type Pointer } from './draft.js';

export const MAX_OPERATIONS = 1000;
/** Characters of all paths of a patch: each is read one by one, and millions of escaped ones would hold up the others. */
export const MAX_POINTERS = 256 * 1024;

export type JsonPatchResult =
  /** `touched`: members and elements that were copied or moved for it. */
  | { readonly outcome: 'Patched'; readonly value: unknown; readonly touched: number }
  /** `cause` is set when the patch is well-formed and does not fit this target. */
  | {
      readonly outcome: 'Refused';
      readonly code: Refusal['code'];
      readonly message: string;
      readonly cause?: Cause | undefined;
    };

type Operation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: Pointer; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: Pointer }
  | { readonly op: 'move' | 'copy'; readonly path: Pointer; readonly from: Pointer };

/** A malformed patch is BadRequest; one that does not fit the target, also by a failed `test`, is Invalid. */
export function jsonPatch(target: unknown, operations: readonly unknown[]): JsonPatchResult {
  if (operations.length > MAX_OPERATIONS) {
    return refused('RequestEntityTooLarge', `a JSON patch may have at most ${MAX_OPERATIONS} operations`);
  }
  if (pointersOf(operations) > MAX_POINTERS) {
    return refused('RequestEntityTooLarge', `paths of a JSON patch may have at most ${MAX_POINTERS} characters in all`);
  }
  const draft = new PatchDraft(target);
  for (const [index, candidate] of operations.entries()) {
    const operation = readOperation(candidate);
    if (typeof operation === 'string')
      return refused('BadRequest', `operation ${index} of the JSON patch: ${operation}`);
    try {
      carryOut(draft, operation);
    } catch (error) {
      if (error instanceof Misfit) return misfit(index, operation, error.message);
      throw error;
    }
  }
  const { value, touched } = draft;
  if (depthOf(value, MAX_DEPTH) > MAX_DEPTH) {
    return refused('BadRequest', `the patched object is nested deeper than ${MAX_DEPTH} levels`);
  }
  return { outcome: 'Patched', value, touched };
}

function carryOut(draft: PatchDraft, operation: Operation): void {
  const { path } = operation;
  switch (operation.op) {
    case 'add':
      return draft.add(path, operation.value);
    case 'remove':
      return draft.remove(path);
    case 'replace':
      return draft.replace(path, operation.value);
    case 'test':
      if (!equalJson(draft.read(path), operation.value)) throw new Misfit('the tested value is another one');
      return;
    case 'copy':
      return draft.add(path, draft.copyOf(operation.from));
    default: {
      const { from } = operation;
      if (from.length < path.length && from.every((token, at) => token === path[at])) {
        throw new Misfit('a value cannot move into itself');
      }
      const value = draft.read(from);
      draft.remove(from);
      draft.add(path, value);
    }
  }
}

function pointersOf(operations: readonly unknown[]): number {
  const lengthOf = (text: unknown): number => (typeof text === 'string' ? text.length : 0);
  return operations.reduce<number>(
    (sum, one) => sum + (isObject(one) ? lengthOf(one['path']) + lengthOf(one['from']) : 0),
    0,
  );
}

/** The operation, or what is wrong with it. */
function readOperation(candidate: unknown): Operation | string {
  if (!isObject(candidate)) return 'must be an object';
  const { op } = candidate;
  if ([candidate['path'], candidate['from']].some(namesProto))
    return 'path and from must not name a member "__proto__"';
  const path = readPointer(candidate['path']);
  if (path === undefined) return `path must be a JSON pointer of at most ${MAX_DEPTH} parts`;
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      return Object.hasOwn(candidate, 'value') ? { op, path, value: candidate['value'] } : 'value is missing';
    case 'remove':
      return path.length === 0 ? 'the whole object cannot be removed' : { op, path };
    case 'move':
    case 'copy': {
      const from = readPointer(candidate['from']);
      if (from === undefined) return `from must be a JSON pointer of at most ${MAX_DEPTH} parts`;
      if (op === 'move' && from.length === 0) return 'the whole object cannot be moved';
      return { op, path, from };
    }
    default:
      return 'op must be one of add, remove, replace, move, copy, test';
  }
}

function namesProto(text: unknown): boolean {
  return typeof text === 'string' && text.split('/').includes('__proto__');
}

function readPointer(text: unknown): Pointer | undefined {
  if (text === '') return [];
  if (typeof text !== 'string' || !text.startsWith('/') || /~(?![01])/.test(text)) return undefined;
  const tokens = text.slice(1).split('/');
  if (tokens.length > MAX_DEPTH) return undefined;
  return tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function refused(code: Refusal['code'], message: string): JsonPatchResult {
  return { outcome: 'Refused', code, message };
}

function misfit(index: number, operation: Operation, problem: string): JsonPatchResult {
  const pointer = operation.path.map((token) => `/${token}`).join('');
  const message = `operation ${index} (${operation.op} ${JSON.stringify(pointer.slice(0, 200))}): ${problem}`;
  return {
    outcome: 'Refused',
    code: 'Invalid',
    message: `the JSON patch does not fit the object: ${message}`,
    cause: { field: operation.path.join('.').slice(0, 200), message, reason: 'FieldValueInvalid' },
  };
}
