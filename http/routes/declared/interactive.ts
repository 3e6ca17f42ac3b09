/** Owns what the descriptions of the routes inside a running Sandbox or Workspace share (`http/openapi/inside.ts`). Pure. */
import { BOOLEAN, INTEGER, query } from '../../openapi/route.js';
import { record, said, STRING_MAP, STRINGS } from './bodies.js';

export const EPOCH = query('epoch', 'Only at this epoch; when it is over, 409 names the current one.', INTEGER);
export const WAIT = query(
  'wait',
  'Longest wait for the start of what is starting, at most 60s; without it the answer is SandboxStarting.',
);

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
