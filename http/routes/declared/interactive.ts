/**
 * Owns the description of what one does inside a running Sandbox or Workspace: commands, processes, terminals, files,
 * ports. Source: decisions, "Routes not shown"; handles carry uid and epoch, and `epoch` refuses any other one.
 */
import { BOOLEAN, BYTES, INTEGER, list, path, query, TEXT } from '../../openapi/route.js';
import { CHECKSUM, FILE_ENTRY, json, RAW, record, said, STRING_MAP, STRINGS, TAR } from './bodies.js';
import type { BelowRoute, Method } from './declared.js';

export const EPOCH = query('epoch', 'Only at this epoch; when it is over, 409 names the current one.', INTEGER);
export const WAIT = query(
  'wait',
  'Longest wait for the start of what is starting, at most 60s; without it the answer is SandboxStarting.',
);
const AT = query('path', 'Absolute path inside.');
const ID = path('id', 'Id of the process.');

export const COMMAND = record(
  {
    command: said('Program and arguments.', STRINGS),
    env: said('More environment variables.', STRING_MAP),
    workingDir: said('Where it starts.'),
    user: said('User or uid that it runs as.'),
    stdin: said('What it reads.'),
    timeout: said('Longest run, such as 30s.'),
    tty: said('False: for a terminal there is a route of its own.', { type: 'boolean', enum: [false] }),
  },
  ['command'],
);

export const RESULT = record({
  exitCode: said('Exit code.', INTEGER),
  signal: said('Number of the signal that ended it.', INTEGER),
  timedOut: said('It ran longer than `timeout` and was ended.', BOOLEAN),
  stdout: said('What it wrote.'),
  stderr: said('What it wrote to standard error.'),
  truncated: said('More was written than is kept.', BOOLEAN),
  durationSeconds: said('How long it ran.', { type: 'number' }),
});

const PROCESS = record({
  id: said('Names it; holds for this epoch only.'),
  command: said('Program and arguments.', STRINGS),
  running: said('It has not ended.', BOOLEAN),
  exitCode: said('Exit code, once it has ended.', INTEGER),
  startTime: said('When it was started.', { type: 'string', format: 'date-time' }),
});

function inside(plural: string, kind: string): readonly BelowRoute[] {
  const one = (
    method: Method,
    at: string,
    id: string,
    summary: string,
    more: Pick<BelowRoute, 'answer'> & Partial<Pick<BelowRoute, 'body' | 'parameters'>>,
  ): BelowRoute => ({
    ...more,
    plural,
    method,
    path: at,
    verb: 'exec',
    id: `${id}Of${kind}`,
    tag: kind,
    summary,
    parameters: [...(more.parameters ?? []), EPOCH],
  });
  return [
    one('POST', 'processes', 'startProcess', 'Start a detached process', {
      body: json(COMMAND),
      answer: { status: 201, schema: PROCESS, description: 'Started.' },
    }),
    one('GET', 'processes', 'listProcesses', 'List detached processes', {
      answer: { schema: list(PROCESS), description: 'The processes.' },
    }),
    one('GET', 'processes/{id}', 'readProcess', 'Read a detached process', {
      parameters: [ID],
      answer: { schema: PROCESS, description: 'The process.' },
    }),
    one('GET', 'processes/{id}/output', 'readOutput', 'Read what a process writes', {
      parameters: [ID, query('follow', 'Go on until it ends.', BOOLEAN)],
      answer: { type: 'application/x-ndjson', schema: TEXT, description: 'Frames {stream, data}, as lines.' },
    }),
    one('POST', 'processes/{id}/stdin', 'writeStdin', 'Write to the standard input of a process', {
      parameters: [ID],
      body: RAW,
      answer: { schema: record({ written: said('Bytes taken.', INTEGER) }), description: 'Taken.' },
    }),
    one('POST', 'processes/{id}/signals', 'signalProcess', 'Send a signal to a process', {
      parameters: [ID],
      body: json(record({ signal: said('Such as SIGTERM.') }, ['signal'])),
      answer: { schema: PROCESS, description: 'Sent.' },
    }),
    one('GET', 'terminal', 'openTerminal', 'Open a terminal: a WebSocket', {
      parameters: [query('cols', 'Columns.', INTEGER), query('rows', 'Rows.', INTEGER)],
      answer: {
        status: 101,
        type: 'application/octet-stream',
        schema: BYTES,
        description:
          'Binary frames are bytes, text frames are {"resize":{"cols","rows"}}; the close has the exit code.',
      },
    }),
    one('GET', 'files', 'readFile', 'Read a file, or list a directory', {
      parameters: [AT, query('list', 'The entries of a directory instead of bytes.', BOOLEAN)],
      answer: { type: 'application/octet-stream', schema: BYTES, description: 'The bytes; its ETag is their SHA-256.' },
    }),
    one('PUT', 'files', 'writeFile', 'Write a file', {
      parameters: [AT, query('mode', 'Permissions, in octal.'), CHECKSUM],
      body: RAW,
      answer: { schema: FILE_ENTRY, description: 'Written.' },
    }),
    one('DELETE', 'files', 'deleteFile', 'Delete a file or directory', {
      parameters: [AT],
      answer: { schema: FILE_ENTRY, description: 'Deleted.' },
    }),
    one('POST', 'files/archive', 'unpackArchive', 'Unpack a tar', {
      parameters: [AT],
      body: TAR,
      answer: { schema: record({ files: said('Files written.', INTEGER) }), description: 'Unpacked.' },
    }),
    one('GET', 'files/archive', 'packArchive', 'Read a directory as a tar', {
      parameters: [AT],
      answer: { type: 'application/x-tar', schema: BYTES, description: 'The tar.' },
    }),
  ];
}

const PROXIED: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Any method; WebSockets too. */
const PORTS: readonly BelowRoute[] = PROXIED.map((method) => ({
  plural: 'sandboxes',
  method,
  path: 'ports/{port}/{path+}',
  verb: 'exec',
  id: `${method.toLowerCase()}PortOfSandbox`,
  tag: 'Sandbox',
  summary: 'Reach a port inside',
  parameters: [path('port', 'Port that a program inside listens on.'), path('path', 'Path there.'), EPOCH],
  answer: { type: '*/*', schema: BYTES, description: 'What the program answers.' },
}));

export const INTERACTIVE_ROUTES: readonly BelowRoute[] = [
  ...inside('sandboxes', 'Sandbox'),
  ...inside('workspaces', 'Workspace'),
  ...PORTS,
];
