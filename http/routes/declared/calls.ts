/** Owns the description of calling Functions and of talking to AgentRuns. Source: decisions, "Routes not shown". */
import { BOOLEAN, INTEGER, list, OBJECT, path, query, TEXT } from '../../openapi/route.js';
import type { Node } from '../../openapi/schema.js';
import { IDEMPOTENCY_KEY } from '../../openapi/parameters.js';
import { items, json, record, described } from './bodies.js';
import type { BelowRoute } from './declared.js';

const FUNCTION = { plural: 'functions', tag: 'Function', verb: 'exec' } as const;
const RUN = { plural: 'agentruns', tag: 'AgentRun' } as const;
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

export const CALL_ROUTES: readonly BelowRoute[] = [
  {
    ...FUNCTION,
    method: 'POST',
    path: 'calls',
    id: 'callFunction',
    summary: 'Call a Function',
    parameters: [query('wait', 'Answer when it has ended, or after this long.'), ...KEYED],
    body: json(CALL),
    answer: { status: 201, schema: OBJECT, description: 'The FunctionCall.' },
  },
  {
    ...FUNCTION,
    method: 'POST',
    path: 'calls/batch',
    id: 'callFunctionManyTimes',
    summary: 'Call a Function many times',
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
    ...FUNCTION,
    method: 'GET',
    path: 'calls',
    verb: 'read',
    id: 'listCallsOfFunction',
    summary: 'List calls of a Function',
    parameters: [query('group', 'Only those of this batch.')],
    answer: { schema: list(OBJECT), description: 'FunctionCalls.' },
  },
  {
    ...FUNCTION,
    method: 'GET',
    path: 'calls/{id}',
    verb: 'read',
    id: 'readCallOfFunction',
    summary: 'Read a call of a Function',
    parameters: [path('id', 'Name of the FunctionCall.')],
    answer: { schema: OBJECT, description: 'The FunctionCall.' },
  },
  {
    ...RUN,
    method: 'POST',
    path: 'messages',
    verb: 'exec',
    id: 'sendMessageToAgentRun',
    summary: 'Send a message to an AgentRun',
    parameters: KEYED,
    body: json(
      record(
        { key: described('Names the message; sent twice, it counts once.'), content: described('The message.', {}) },
        ['key', 'content'],
      ),
    ),
    answer: { status: 201, schema: OBJECT, description: 'Taken.' },
  },
  {
    ...RUN,
    method: 'GET',
    path: 'answer',
    verb: 'read',
    id: 'readAnswerOfAgentRun',
    summary: 'Read the whole answer of an AgentRun',
    answer: { schema: ANSWER, description: 'The answer.' },
  },
  {
    ...RUN,
    method: 'GET',
    path: 'journal',
    verb: 'read',
    id: 'readJournalOfAgentRun',
    summary: 'Read what an AgentRun has done, step by step',
    parameters: [query('after', 'Steps after this one.'), query('follow', 'Go on until it ends.', BOOLEAN)],
    answer: { schema: list(OBJECT, { continue: TEXT }), description: 'Steps, oldest first; lines when following.' },
  },
  {
    ...RUN,
    method: 'POST',
    path: 'resolutions',
    verb: 'exec',
    id: 'resolveStepOfAgentRun',
    summary: 'Say what became of a step that an AgentRun cannot tell',
    parameters: KEYED,
    body: json(
      record({ step: described('The step.'), outcome: described('What became of it.', {}) }, ['step', 'outcome']),
    ),
    answer: { schema: OBJECT, description: 'Resolved.' },
  },
];
