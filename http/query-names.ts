/**
 * Which query parameters our own routes know: an unknown one is refused by its name, because who asks for `tailines=10`
 * would otherwise get everything. The Kubernetes verbs leave unknown ones alone, as kube-apiserver does, but not misspelt ones.
 */
import { refuse } from '../src/api/refusal.js';
import type { Subresource } from '../src/kinds/kind.js';
import { badParameter } from './bad-parameter.js';

const INSIDE = ['epoch', 'wait'];
const LOGS = [
  ...['index', 'epoch', 'container', 'follow', 'timestamps', 'tail', 'since'],
  ...['tailLines', 'sinceSeconds', 'sinceTime', 'limitBytes', 'previous', 'stream', 'pretty'],
  'insecureSkipTLSVerifyBackend',
];

/** What is below objects; undefined: what stands there reads what it is asked itself. */
const OF_SUBRESOURCES: Readonly<Record<Subresource, readonly string[] | undefined>> = {
  cells: ['after', 'limit', 'phase'],
  deliveries: ['after', 'limit', 'dryRun', 'fieldManager', 'fieldValidation'],
  exec: INSIDE,
  files: [...INSIDE, 'path', 'mode', 'list'],
  logs: LOGS,
  outputs: ['index'],
  ports: undefined,
  processes: [...INSIDE, 'follow', 'end'],
  stages: LOGS,
  terminal: [...INSIDE, 'cols', 'rows', 'command'],
  tools: [],
};

/** Routes beside the objects, by the segment that follows the version (`events`); `actions`: those of the kinds. */
const OF_ROUTES: Readonly<Record<string, readonly string[]>> = {
  actions: ['dryRun', 'fieldManager', 'fieldValidation', 'includeObject', 'pretty', 'timeout'],
  blobs: [],
  events: ['object', 'type', 'after', 'follow', 'limit'],
  orgs: [],
  supervisors: ['limit', 'continue'],
  actors: [],
  admissions: [],
  ledger: ['sha256'],
  attempt: [],
  topups: [],
  promocodes: ['limit', 'continue'],
  'wallet/': ['dryRun', 'fieldManager', 'fieldValidation'],
  'wallet/entries': ['after', 'limit', 'month', 'format'],
  'wallet/redemptions': [],
  'wallet/runway': [],
  'wallet/spend': ['from', 'to', 'by', 'format'],
};

/** A route that is not named reads what it is asked itself. */
const NAMES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({ ...OF_ROUTES, ...OF_SUBRESOURCES }).flatMap(([route, names]) =>
    names === undefined ? [] : [[route, new Set(names)] as const],
  ),
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

/** Each is one word of several. All others have one value: of two, one would be passed over in silence. */
const REPEATED: ReadonlySet<string> = new Set(['command', 'dryRun']);

/**
 * Refuses with BadRequest query parameters that the route does not know, parameters that the client sends twice, and values whose bytes are not UTF-8:
 * the service would read those as other characters.
 */
export function checkQueryNames(route: string, query: URLSearchParams, sent: string): void {
  const known = NAMES.get(route);
  if (known === undefined) return;
  checkEncoding(query, sent);
  const seen = new Set<string>();
  for (const [name, value] of query) {
    if (known.has(name) && (!seen.has(name) || REPEATED.has(name))) {
      seen.add(name);
      continue;
    }
    if (known.has(name)) throw badParameter(name, value, 'must be there once', `Send one request for each ${name}.`);
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
