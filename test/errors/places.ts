/**
 * Finds every place of the source that can answer with an error, by reading its syntax: calls of `refuse`, objects
 * that are refusals (`code` and `message`), and protocol errors. What the type checker cannot promise (that somebody
 * spelled a code past the types) is checked on what is found here.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseFileSync } from '@swc/core';

/** Rooms whose code runs in the service and can refuse. */
const ROOMS = ['src', 'actors', 'http', 'storage'];

/** Speaks to the service over a socket of its own; its refusals have codes of that protocol. */
const APART = [join('src', 'runner')];

export interface Place {
  readonly file: string;
  /** The code; undefined when it is worked out and not written there. */
  readonly code: string | undefined;
  readonly how: 'refusal' | 'protocol';
}

type Node = Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function files(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return APART.includes(path) ? [] : files(path);
    return path.endsWith('.ts') ? [path] : [];
  });
}

function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) for (const element of value) walk(element, visit);
  else if (isNode(value)) {
    visit(value);
    for (const below of Object.values(value)) walk(below, visit);
  }
}

/** Texts that an expression can be: one, or those of a choice; undefined among them when it is anything else. */
function texts(expression: unknown): readonly (string | undefined)[] {
  if (!isNode(expression)) return [undefined];
  switch (expression['type']) {
    case 'StringLiteral':
      return [String(expression['value'])];
    case 'ConditionalExpression':
      return [...texts(expression['consequent']), ...texts(expression['alternate'])];
    case 'ParenthesisExpression':
    case 'TsConstAssertion':
      return texts(expression['expression']);
    default:
      return [undefined];
  }
}

function argument(node: Node, index: number): unknown {
  const list: unknown = node['arguments'];
  const found: unknown = Array.isArray(list) ? list[index] : undefined;
  return isNode(found) ? found['expression'] : undefined;
}

function nameOf(node: unknown): string {
  return isNode(node) && node['type'] === 'Identifier' ? String(node['value']) : '';
}

/** Members by name; a shorthand stands for itself. */
function members(node: Node): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  const list: unknown = node['properties'];
  for (const property of Array.isArray(list) ? (list as readonly unknown[]) : []) {
    if (!isNode(property)) continue;
    if (property['type'] === 'KeyValueProperty') found.set(nameOf(property['key']), property['value']);
    else if (property['type'] === 'Identifier') found.set(nameOf(property), property);
  }
  return found;
}

/** Others have functions of the same name. */
function importsRefuse(node: Node): boolean {
  const source = node['source'];
  const path = isNode(source) ? String(source['value']) : '';
  const names: unknown = node['specifiers'];
  return (
    path.endsWith('/refusal.js') &&
    Array.isArray(names) &&
    names.some((name: unknown) => isNode(name) && nameOf(name['local']) === 'refuse')
  );
}

function placesOf(file: string): Place[] {
  const found: Place[] = [];
  const module = parseFileSync(file, { syntax: 'typescript', target: 'es2022' });
  let refuses = false;
  walk(module.body, (node) => {
    if (node['type'] === 'ImportDeclaration') refuses ||= importsRefuse(node);
    else if (node['type'] === 'CallExpression' && refuses && nameOf(node['callee']) === 'refuse') {
      for (const code of texts(argument(node, 0))) found.push({ file, code, how: 'refusal' });
    } else if (node['type'] === 'NewExpression' && nameOf(node['callee']) === 'ProtocolError') {
      for (const code of texts(argument(node, 0))) found.push({ file, code, how: 'protocol' });
    } else if (node['type'] === 'ObjectExpression') {
      const own = members(node);
      // The codes of a kind whose work can be reached from outside (`WorkRefusals`).
      if (own.has('starting') && own.has('notRunning')) {
        for (const value of own.values()) for (const code of texts(value)) found.push({ file, code, how: 'refusal' });
      }
      // `code: 'custom'` is an issue of zod, which becomes a cause.
      if (!own.has('code') || !own.has('message') || own.has('path') || own.has('input')) return;
      for (const code of texts(own.get('code'))) if (code !== 'custom') found.push({ file, code, how: 'refusal' });
    }
  });
  return found;
}

export function findPlaces(): readonly Place[] {
  return ROOMS.flatMap((room) => files(room)).flatMap(placesOf);
}
