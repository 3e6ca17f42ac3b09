/** The description of logs: of work whose log is served already, its parameters; of all other work, the routes. Pure. */
import { BOOLEAN, INTEGER, query, TEXT } from '../../openapi/route.js';
import type { Node } from '../../openapi/schema.js';
import type { SubresourceRoute, DescribeSubresource } from './declared.js';

const HOW: readonly Node[] = [
  query('follow', 'Go on until the work ends.', BOOLEAN),
  query('tail', 'Only the last so many lines.', INTEGER),
  query('since', 'Only lines of the last so long (`15m`) or after a time (RFC 3339).'),
  query('timestamps', 'Put the time before each line.', BOOLEAN),
  query('limitBytes', 'At most so many bytes; the last line may be cut.', INTEGER),
  query('previous', 'The log of the epoch before.', BOOLEAN),
  query('tailLines', "Kubernetes' name for tail.", INTEGER),
  query('sinceSeconds', 'Only lines of the last so many seconds.', INTEGER),
  query('sinceTime', 'Only lines after this time (RFC 3339).'),
  query('stream', '`All`: output and errors are one log.'),
];

export const LOG_PARAMETERS: readonly Node[] = [
  query('index', 'Index of the Job; may be left out when it has one only.', INTEGER),
  query('epoch', 'Epoch of the index; the newest by default.', INTEGER),
  query('container', '`main` by default; `init`, or the name of a sidecar.'),
  ...HOW,
];

/** Of work in which clients start processes of their own. */
export const SESSION_LOG_PARAMETERS: readonly Node[] = [
  query('epoch', 'The newest by default; the last ten are kept.', INTEGER),
  query('container', '`main` by default; `process-` and the id of a detached process; `network`: its connections.'),
  ...HOW,
];

export const logs: DescribeSubresource = (kind): readonly SubresourceRoute[] => [
  {
    path: 'logs',
    verb: 'read',
    method: 'GET',
    id: `read${kind}Logs`,
    tag: 'Logs',
    summary: `Read the output of a ${kind}`,
    parameters: LOG_PARAMETERS,
    answer: { type: 'text/plain', schema: TEXT, description: 'The lines.' },
  },
];
