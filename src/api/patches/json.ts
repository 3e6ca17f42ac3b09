/**
 * Owns JSON Patch (RFC 6902). The target is never changed: parts that the patch does not touch are shared with it, so `===`
 * tells which parts the patch left alone.
 *
 * This is our own because patches come from outside and meet objects with free keys (labels, environment): pointers must
 * reach own members only, and values must be copied whatever they are called. The `rfc6902` package follows inherited
 * members (`/toString/x` writes to a built-in function) and takes `{"constructor":"function Array() …","length":4e9}`
 * for an array of that length; it serves as the oracle of our tests instead.
 */
import { equalJson } from '../equal.js';
import type { Cause, Refusal } from '../refusal.js';
import { depthOf, isObject, MAX_DEPTH } from '../safe-value.js';

export const MAX_OPERATIONS = 1000;

/** Characters of JSON that the `copy` operations of one patch may add in all; without it 40 copies make a terabyte. */
const MAX_COPIED = 3 * 1024 * 1024;

export type JsonPatchResult =
  | { readonly outcome: 'Patched'; readonly value: unknown }
  /** `cause` is set when the patch is well-formed and does not fit this target. */
  | {
      readonly outcome: 'Refused';
      readonly code: Refusal['code'];
      readonly message: string;
      readonly cause?: Cause | undefined;
    };

type Pointer = readonly string[];

type Operation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: Pointer; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: Pointer }
  | { readonly op: 'move' | 'copy'; readonly path: Pointer; readonly from: Pointer };

/** A malformed patch is BadRequest; one that does not fit the target, also by a failed `test`, is Invalid. */
export function jsonPatch(target: unknown, operations: readonly unknown[]): JsonPatchResult {
  if (operations.length > MAX_OPERATIONS) {
    return refused('RequestEntityTooLarge', `a JSON patch may have at most ${MAX_OPERATIONS} operations`);
  }
  let value = target;
  let room = MAX_COPIED;
  for (const [index, candidate] of operations.entries()) {
    const operation = readOperation(candidate);
    if (typeof operation === 'string')
      return refused('BadRequest', `operation ${index} of the JSON patch: ${operation}`);
    try {
      if (operation.op === 'copy') room -= sizeOf(value, operation, room);
      value = carryOut(value, operation);
    } catch (error) {
      if (error instanceof Misfit) return misfit(index, operation, error.message);
      throw error;
    }
  }
  if (depthOf(value, MAX_DEPTH) > MAX_DEPTH) {
    return refused('BadRequest', `the patched object is nested deeper than ${MAX_DEPTH} levels`);
  }
  return { outcome: 'Patched', value };
}

/** Unwinds one operation; never leaves this file. */
class Misfit extends Error {}

const MISSING = 'names nothing that is there';

function carryOut(root: unknown, operation: Operation): unknown {
  const { path } = operation;
  switch (operation.op) {
    case 'add':
      return add(root, path, 0, operation.value);
    case 'remove':
      return remove(root, path, 0);
    case 'replace':
      return replace(root, path, 0, operation.value);
    case 'test':
      if (!equalJson(get(root, path), operation.value)) throw new Misfit('the tested value is another one');
      return root;
    case 'copy':
      return add(root, path, 0, nestable(get(root, operation.from), path));
    default: {
      const { from } = operation;
      if (from.length < path.length && from.every((token, at) => token === path[at])) {
        throw new Misfit('a value cannot move into itself');
      }
      return add(remove(root, from, 0), path, 0, nestable(get(root, from), path));
    }
  }
}

function get(root: unknown, path: Pointer): unknown {
  let value = root;
  for (const token of path) value = member(value, token);
  return value;
}

function add(node: unknown, path: Pointer, at: number, value: unknown): unknown {
  const token = path[at];
  if (token === undefined) return value;
  if (at < path.length - 1) return withMember(node, token, add(member(node, token), path, at + 1, value));
  if (Array.isArray(node))
    return node.toSpliced(token === '-' ? node.length : indexIn(node.length + 1, token), 0, value);
  if (isObject(node)) return { ...node, [token]: value };
  throw new Misfit(MISSING);
}

function remove(node: unknown, path: Pointer, at: number): unknown {
  const token = path[at] ?? '';
  const child = member(node, token);
  if (at < path.length - 1) return withMember(node, token, remove(child, path, at + 1));
  if (Array.isArray(node)) return node.toSpliced(indexIn(node.length, token), 1);
  if (!isObject(node)) throw new Misfit(MISSING);
  const { [token]: _, ...rest } = node;
  return rest;
}

function replace(node: unknown, path: Pointer, at: number, value: unknown): unknown {
  const token = path[at];
  return token === undefined ? value : withMember(node, token, replace(member(node, token), path, at + 1, value));
}

/** The own member or element; refuses what is not there. */
function member(node: unknown, token: string): unknown {
  if (Array.isArray(node)) return node[indexIn(node.length, token)];
  if (isObject(node) && Object.hasOwn(node, token)) return node[token];
  throw new Misfit(MISSING);
}

/** Computed members of a literal are own members whatever they are called. */
function withMember(node: unknown, token: string, value: unknown): unknown {
  if (Array.isArray(node)) return node.with(Number(token), value);
  return isObject(node) ? { ...node, [token]: value } : node;
}

function indexIn(length: number, token: string): number {
  if (/^(?:0|[1-9]\d{0,8})$/.test(token) && Number(token) < length) return Number(token);
  throw new Misfit(MISSING);
}

function nestable(value: unknown, path: Pointer): unknown {
  if (depthOf(value, MAX_DEPTH) + path.length > MAX_DEPTH) throw new Misfit(`nests deeper than ${MAX_DEPTH} levels`);
  return value;
}

function sizeOf(root: unknown, operation: Extract<Operation, { op: 'move' | 'copy' }>, room: number): number {
  const value = nestable(get(root, operation.from), operation.path);
  const size = typeof value === 'string' ? value.length : (JSON.stringify(value)?.length ?? 0);
  if (size > room) throw new Misfit('copies too much');
  return size;
}

/** The operation, or what is wrong with it. */
function readOperation(candidate: unknown): Operation | string {
  if (!isObject(candidate)) return 'must be an object';
  const { op } = candidate;
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

function readPointer(text: unknown): Pointer | undefined {
  if (text === '') return [];
  if (typeof text !== 'string' || !text.startsWith('/') || /~(?![01])/.test(text)) return undefined;
  const tokens = text.slice(1).split('/');
  if (tokens.length > MAX_DEPTH || tokens.includes('__proto__')) return undefined;
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
