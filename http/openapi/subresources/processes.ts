/** The description of commands, detached processes and terminals inside what runs. Pure. Source: decisions, "Routes not shown". */
import { json, RAW, record, described, STRINGS } from '../../routes/declared/bodies.js';
import { COMMAND, EPOCH, RESULT, WAIT } from '../../routes/declared/interactive.js';
import { COMMAND_SIGNALS } from '../../../src/engines/compute/shared/signals.js';
import { TERMINAL_PROTOCOL } from '../../routes/terminal.js';
import { IDEMPOTENCY_KEY, NAME, NAMESPACE } from '../parameters.js';
import { BOOLEAN, BYTES, INTEGER, list, path, query, route, TEXT, type Route } from '../route.js';
import type { Node } from '../schema.js';

const PLACE: readonly Node[] = [{ ...NAMESPACE }, { ...NAME }];
const ID = path('id', 'Id of the process; it belongs to one epoch.');

const PROCESS = record(
  {
    id: described('Names it; holds for this epoch only.'),
    command: described(
      'Program and arguments; of a long one the first 4,096 characters, the last of which is `…`.',
      STRINGS,
    ),
    running: described('It has not ended.', BOOLEAN),
    startTime: described('When it was started.', { type: 'string', format: 'date-time' }),
    endTime: described('When it ended.', { type: 'string', format: 'date-time' }),
    exitCode: described('Exit code, once it has ended.', INTEGER),
    signal: described('Number of the signal that ended it.', INTEGER),
    timedOut: described('It ran longer than `timeout` and was ended.', BOOLEAN),
  },
  ['id', 'command', 'running', 'startTime'],
);

function operation(kind: string, id: string, summary: string, more: Pick<Route, 'answer'> & Partial<Route>): Node {
  return route({
    id: `${id}Of${kind}`,
    tag: kind,
    summary,
    ...more,
    parameters: [...PLACE, ...(more.parameters ?? [])],
  });
}

export function describeExec(object: string, kind: string): Record<string, Node> {
  return {
    [`${object}/exec`]: {
      post: operation(kind, 'runCommand', 'Run a command and wait for its end', {
        parameters: [EPOCH, WAIT],
        body: json(COMMAND),
        answer: {
          schema: RESULT,
          description: 'How it ended; frames {stream, data} as lines when application/x-ndjson is accepted.',
        },
      }),
    },
  };
}

export function describeProcesses(object: string, kind: string): Record<string, Node> {
  const one = `${object}/processes/{id}`;
  return {
    [`${object}/processes`]: {
      get: operation(kind, 'listProcesses', 'List the detached processes of this epoch, the newest 100', {
        parameters: [EPOCH],
        answer: { schema: list(PROCESS), description: 'The processes.' },
      }),
      post: operation(kind, 'startProcess', 'Start a detached process', {
        parameters: [EPOCH, WAIT, { ...IDEMPOTENCY_KEY }],
        body: json(COMMAND),
        description:
          'It goes on when its caller leaves, and until it or the epoch ends. `stdin` is its whole input; without it the input stays open for `stdin` below it.',
        answer: { status: 201, schema: PROCESS, description: 'Started.' },
      }),
    },
    [one]: {
      get: operation(kind, 'readProcess', 'Read a detached process', {
        parameters: [ID],
        answer: { schema: PROCESS, description: 'The process.' },
      }),
    },
    [`${one}/output`]: {
      get: operation(kind, 'readOutput', 'Read what a process has written', {
        parameters: [ID, query('follow', 'Go on until it ends.', BOOLEAN)],
        answer: {
          type: 'application/x-ndjson',
          schema: TEXT,
          description:
            'Frames {stream, data, time} as lines; the last one is {exitCode}, {running: true} or {error: {reason, message}}.',
        },
      }),
    },
    [`${one}/stdin`]: {
      post: operation(kind, 'writeStdin', 'Write to the standard input of a process', {
        parameters: [ID, query('end', 'Close the input behind it.', BOOLEAN)],
        body: { ...RAW, required: false },
        answer: {
          schema: record({ written: described('Bytes taken, from the first on; send the others again.', INTEGER) }, [
            'written',
          ]),
          description: 'Taken. 429 StdinBackpressure when nothing was.',
        },
      }),
    },
    [`${one}/signals`]: {
      post: operation(kind, 'signalProcess', 'Send a signal to a process and to all that it has started', {
        parameters: [ID],
        body: json(record({ signal: described('Which one.', { ...TEXT, enum: [...COMMAND_SIGNALS] }) }, ['signal'])),
        answer: { schema: PROCESS, description: 'Sent.' },
      }),
    },
  };
}

export function describeTerminal(object: string, kind: string): Record<string, Node> {
  return {
    [`${object}/terminal`]: {
      get: operation(kind, 'openTerminal', 'Open a terminal: a WebSocket', {
        parameters: [
          query('cols', 'Columns, 1 to 1000; 80 by default.', INTEGER),
          query('rows', 'Rows, 1 to 1000; 24 by default.', INTEGER),
          query('command', 'Program and arguments, one each; a login shell by default.', {
            type: 'array',
            items: TEXT,
          }),
          EPOCH,
          WAIT,
        ],
        description: `Browsers send their key as the subprotocol \`base64url.bearer.authorization.k8s.io.<base64url of the key>\` beside \`${TERMINAL_PROTOCOL}\`. The connection ends with the program, and the program with the connection; input keeps the ${kind} awake, an open terminal alone does not.`,
        answer: {
          status: 101,
          type: 'application/octet-stream',
          schema: BYTES,
          description:
            'Binary frames are bytes, text frames are {"resize":{"cols","rows"}}. The close: 1000 with the reason {"exitCode"}; 4409 the epoch has ended; 4422 the program could not be executed; 4400 a frame is not understood.',
        },
      }),
    },
  };
}
