/** What the descriptions of the routes inside a running Sandbox or Workspace share (`http/openapi/subresources`). Pure. */
import { BOOLEAN, INTEGER, query } from '../../openapi/route.js';
import { record, described, STRING_MAP, STRINGS } from './bodies.js';

export const EPOCH = query('epoch', 'Only at this epoch; when it is over, 409 names the current one.', INTEGER);
export const WAIT = query(
  'wait',
  'Longest wait for the start of what is starting, at most 60s; without it the answer is SandboxStarting.',
);

export const COMMAND = record(
  {
    command: described('Program and arguments.', STRINGS),
    env: described('More environment variables.', STRING_MAP),
    workingDir: described('Where it starts.'),
    user: described('User or uid that it runs as.'),
    stdin: described('What it reads.'),
    timeout: described('Longest run, such as 30s.'),
    tty: described('False: for a terminal there is a route of its own.', { type: 'boolean', enum: [false] }),
  },
  ['command'],
);

export const RESULT = record({
  exitCode: described('Exit code.', INTEGER),
  signal: described('Number of the signal that ended it.', INTEGER),
  timedOut: described('It ran longer than `timeout` and was ended.', BOOLEAN),
  stdout: described('What it wrote.'),
  stderr: described('What it wrote to standard error.'),
  truncated: described(
    'More was written than is kept: 8 MiB of each stream, or less while whole answers of the org hold much (a Warning says so).',
    BOOLEAN,
  ),
  durationSeconds: described('How long it ran.', { type: 'number' }),
});
