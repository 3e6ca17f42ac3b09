/**
 * Which query parameters our own routes know: an unknown one is refused by its name, because who asks for `tailines=10`
 * would otherwise get everything. The Kubernetes verbs leave unknown ones alone, as kube-apiserver does, but not misspelt ones.
 */
import { refuse } from '../src/api/refusal.js';
import { badParameter } from './bad-parameter.js';

const INSIDE = ['epoch', 'wait'];
const LOGS = [
  ...['index', 'epoch', 'container', 'follow', 'timestamps', 'tail', 'since'],
  ...['tailLines', 'sinceSeconds', 'sinceTime', 'limitBytes', 'previous', 'stream', 'pretty'],
  'insecureSkipTLSVerifyBackend',
];

/** By the segment that follows the object (`logs`) or the version (`events`); `actions`: those of the kinds. Absent: the route reads what it is asked itself. */
const NAMES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    logs: LOGS,
    outputs: ['index'],
    cells: ['after', 'limit', 'phase'],
    stages: LOGS,
    exec: INSIDE,
    processes: [...INSIDE, 'follow', 'end'],
    terminal: [...INSIDE, 'cols', 'rows', 'command'],
    files: [...INSIDE, 'path', 'mode', 'list'],
    tools: [],
    actions: ['dryRun', 'fieldManager', 'fieldValidation', 'includeObject', 'pretty', 'timeout'],
    deliveries: ['after', 'limit', 'dryRun', 'fieldManager', 'fieldValidation'],
    blobs: [],
    events: ['object', 'type', 'after', 'follow', 'limit'],
    orgs: [],
    supervisors: ['limit', 'continue'],
    actors: [],
    admissions: [],
    attempt: [],
  }).map(([route, names]) => [route, new Set(names)]),
);

/** Of the Kubernetes verbs. */
const OF_VERBS = [
  ...['labelSelector', 'fieldSelector', 'limit', 'continue', 'watch', 'resourceVersion', 'resourceVersionMatch'],
  ...['sendInitialEvents', 'allowWatchBookmarks', 'timeoutSeconds', 'timeout', 'includeObject', 'pretty'],
  ...['dryRun', 'fieldValidation', 'fieldManager', 'propagationPolicy', 'gracePeriodSeconds', 'orphanDependents'],
];

function loosely(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}

const MEANT: ReadonlyMap<string, string> = new Map(OF_VERBS.map((name) => [loosely(name), name]));

/**
 * The Kubernetes verbs ignore a parameter that they do not know, except one that is a known name written otherwise: `dry-run=All` would
 * delete, and `labelselector=a%3Db` delete everything.
 */
export function checkSpelling(query: URLSearchParams): void {
  for (const name of query.keys()) {
    const meant = name.length > 64 ? undefined : MEANT.get(loosely(name));
    if (meant === undefined || meant === name) continue;
    throw refuse('BadRequest', `unknown query parameter "${name}": ${meant} is written so`, {
      causes: [{ field: name, reason: 'FieldValueNotSupported', message: `is no parameter; ${meant} is` }],
      fix: `Write ${meant}.`,
    });
  }
}

/** Refuses with BadRequest what the route does not know, and bytes that are no text: they would be read as other characters. */
export function checkQueryNames(route: string, query: URLSearchParams, sent: string): void {
  const known = NAMES.get(route);
  if (known === undefined) return;
  checkEncoding(query, sent);
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

function checkEncoding(query: URLSearchParams, sent: string): void {
  for (const [name, value] of query) {
    if (!name.includes('\ufffd') && !value.includes('\ufffd')) continue;
    try {
      // A percent sign that stands for itself is left alone.
      decodeURIComponent(sent.replace(/%(?![0-9a-f]{2})/gi, '%25'));
      return;
    } catch {
      throw badParameter(
        name,
        value,
        'must be UTF-8',
        'Encode the UTF-8 bytes of the text, each as a percent sign and two digits.',
      );
    }
  }
}
