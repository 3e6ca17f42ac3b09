/** How a route beside the generic ones is described: its builder, and the small schemas that many of them share. Pure. */
import { failure } from './operations.js';
import type { Node } from './schema.js';

export interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly schema?: Node;
  readonly description: string;
}

export interface Route {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly parameters?: readonly Node[];
  readonly body?: Node;
  readonly answer: Answer;
  readonly description?: string;
  /** Needs no key. */
  readonly open?: true;
}

export const TEXT: Node = { type: 'string' };
export const BYTES: Node = { type: 'string', format: 'binary' };
export const OBJECT: Node = { type: 'object', additionalProperties: true };
export const INTEGER: Node = { type: 'integer', format: 'int64' };
export const BOOLEAN: Node = { type: 'boolean' };

export function query(name: string, description: string, schema: Node = TEXT): Node {
  return { name, in: 'query', description, schema };
}

export function path(name: string, description: string): Node {
  return { name, in: 'path', required: true, description, schema: TEXT };
}

export function route(of: Route): Node {
  const { status = 200, type = 'application/json', schema = OBJECT, description } = of.answer;
  return {
    operationId: of.id,
    summary: of.summary,
    ...(of.description === undefined ? {} : { description: of.description }),
    tags: [of.tag],
    ...(of.open ? { security: [] } : {}),
    ...(of.parameters ? { parameters: of.parameters } : {}),
    ...(of.body ? { requestBody: of.body } : {}),
    responses: { [String(status)]: { description, content: { [type]: { schema } } }, default: failure() },
  };
}

export function list(items: Node, more: Node = {}): Node {
  return { type: 'object', required: ['items'], properties: { items: { type: 'array', items }, ...more } };
}
