/**
 * Which query parameters our own routes know: an unknown one is refused by its name, because who asks for `tailines=10`
 * would otherwise get everything. The Kubernetes verbs leave unknown ones alone, as kube-apiserver does.
 */
import { refuse } from '../src/api/refusal.js';

const INSIDE = ['epoch', 'wait'];
const LOGS = [
  ...['index', 'epoch', 'container', 'follow', 'timestamps', 'tail', 'since'],
  ...['tailLines', 'sinceSeconds', 'sinceTime', 'limitBytes', 'previous', 'stream', 'pretty'],
  'insecureSkipTLSVerifyBackend',
];

/** By the segment that follows the object (`logs`) or the version (`events`). Absent: the route reads what it is asked itself. */
const NAMES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    logs: LOGS,
    outputs: ['index'],
    exec: INSIDE,
    processes: [...INSIDE, 'follow', 'end'],
    terminal: [...INSIDE, 'cols', 'rows', 'command'],
    files: [...INSIDE, 'path', 'mode', 'list'],
    tools: [],
    deliveries: ['after', 'limit', 'dryRun', 'fieldManager', 'fieldValidation'],
    blobs: [],
    events: ['object', 'type', 'after', 'follow', 'limit'],
    orgs: [],
    supervisors: ['limit', 'continue'],
    actors: [],
    admissions: [],
  }).map(([route, names]) => [route, new Set(names)]),
);

/** Refuses with BadRequest what the route does not know. */
export function checkQueryNames(route: string, query: URLSearchParams): void {
  const known = NAMES.get(route);
  if (known === undefined) return;
  for (const name of query.keys()) {
    if (known.has(name)) continue;
    throw refuse('BadRequest', `unknown query parameter "${name.slice(0, 64)}"`, {
      causes: [
        { field: name.slice(0, 64), reason: 'FieldValueNotSupported', message: 'is no parameter of this route' },
      ],
      fix: known.size === 0 ? 'This route takes none.' : `The parameters of this route are ${[...known].join(', ')}.`,
    });
  }
}
