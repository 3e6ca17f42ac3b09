/**
 * Owns the description of what one does inside a running Sandbox or Workspace: commands, processes, terminals, files,
 * ports. Source: decisions, "Routes not shown"; handles carry uid and epoch, and `epoch` refuses any other one.
 */
import { BOOLEAN, BYTES, INTEGER, query } from '../../openapi/route.js';
import { CHECKSUM, FILE_ENTRY, RAW, record, said, STRING_MAP, STRINGS, TAR } from './bodies.js';
import type { BelowRoute, Method } from './declared.js';

export const EPOCH = query('epoch', 'Only at this epoch; when it is over, 409 names the current one.', INTEGER);
export const WAIT = query(
  'wait',
  'Longest wait for the start of what is starting, at most 60s; without it the answer is SandboxStarting.',
);
const AT = query('path', 'Absolute path inside.');

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

export const INTERACTIVE_ROUTES: readonly BelowRoute[] = [
  ...inside('sandboxes', 'Sandbox'),
  ...inside('workspaces', 'Workspace'),
];
