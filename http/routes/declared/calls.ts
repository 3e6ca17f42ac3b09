/** The description of calls, and of the conversation with what runs by itself. Pure. Source: decisions, "Routes not shown". */
import { BOOLEAN, INTEGER, list, OBJECT, path, query, TEXT } from '../../openapi/route.js';
import type { Node } from '../../openapi/schema.js';
import { IDEMPOTENCY_KEY } from '../../openapi/parameters.js';
import { items, json, record, described } from './bodies.js';
import type { DescribeSubresource } from './declared.js';

const KEYED: readonly Node[] = [{ ...IDEMPOTENCY_KEY }];

const CALL = record({
  method: described('Method of the class; unset for a plain function.'),
  args: described('Arguments in order.', { type: 'array', items: {} }),
  kwargs: described('Arguments by name.', OBJECT),
  input: described('In place of args and kwargs: inline JSON, or the digest of a blob.', {}),
});

const ANSWER = record({
  preview: described('The first 4 KiB.'),
  sha256: described('Digest of the whole.'),
  size: described('Bytes of the whole.', INTEGER),
  answer: described('The whole answer.'),
});

export const calls: DescribeSubresource = (kind) => [
  {
    tag: kind,
    method: 'POST',
    path: 'calls',
    verb: 'exec',
    id: `call${kind}`,
    summary: `Call a ${kind}`,
    parameters: [query('wait', 'Answer when it has ended, or after this long.'), ...KEYED],
    body: json(CALL),
    answer: { status: 201, schema: OBJECT, description: `The ${kind}Call.` },
  },
  {
    tag: kind,
    method: 'POST',
    path: 'calls/batch',
    verb: 'exec',
    id: `call${kind}ManyTimes`,
    summary: `Call a ${kind} many times`,
    parameters: KEYED,
    body: {
      required: true,
      content: {
        'application/json': { schema: items(CALL, 'The calls.') },
        'application/x-ndjson': { schema: TEXT },
      },
    },
    answer: { status: 201, schema: record({ group: described('Names the batch.') }), description: 'Queued.' },
  },
  {
    tag: kind,
    method: 'GET',
    path: 'calls',
    verb: 'read',
    id: `listCallsOf${kind}`,
    summary: `List calls of a ${kind}`,
    parameters: [query('group', 'Only those of this batch.')],
    answer: { schema: list(OBJECT), description: `${kind}Calls.` },
  },
  {
    tag: kind,
    method: 'GET',
    path: 'calls/{id}',
    verb: 'read',
    id: `readCallOf${kind}`,
    summary: `Read a call of a ${kind}`,
    parameters: [path('id', `Name of the ${kind}Call.`)],
    answer: { schema: OBJECT, description: `The ${kind}Call.` },
  },
];

export const messages: DescribeSubresource = (kind) => [
  {
    tag: kind,
    method: 'POST',
    path: 'messages',
    verb: 'exec',
    id: `sendMessageTo${kind}`,
    summary: `Send a message to an ${kind}`,
    parameters: KEYED,
    body: json(
      record(
        { key: described('Names the message; sent twice, it counts once.'), content: described('The message.', {}) },
        ['key', 'content'],
      ),
    ),
    answer: { status: 201, schema: OBJECT, description: 'Taken.' },
  },
];

export const answer: DescribeSubresource = (kind) => [
  {
    tag: kind,
    method: 'GET',
    path: 'answer',
    verb: 'read',
    id: `readAnswerOf${kind}`,
    summary: `Read the whole answer of an ${kind}`,
    answer: { schema: ANSWER, description: 'The answer.' },
  },
];

export const journal: DescribeSubresource = (kind) => [
  {
    tag: kind,
    method: 'GET',
    path: 'journal',
    verb: 'read',
    id: `readJournalOf${kind}`,
    summary: `Read what an ${kind} has done, step by step`,
    parameters: [query('after', 'Steps after this one.'), query('follow', 'Go on until it ends.', BOOLEAN)],
    answer: { schema: list(OBJECT, { continue: TEXT }), description: 'Steps, oldest first; lines when following.' },
  },
];

export const resolutions: DescribeSubresource = (kind) => [
  {
    tag: kind,
    method: 'POST',
    path: 'resolutions',
    verb: 'exec',
    id: `resolveStepOf${kind}`,
    summary: `Say what became of a step that an ${kind} cannot tell`,
    parameters: KEYED,
    body: json(
      record({ step: described('The step.'), outcome: described('What became of it.', {}) }, ['step', 'outcome']),
    ),
    answer: { schema: OBJECT, description: 'Resolved.' },
  },
];
