/** The programs that are compiled against generated types: a typed client of twenty lines, and what is done with it. */

/** Where the programs work; nobody else does. */
export const PROJECT = 'typed-client';

/** `call(method, path, …)`: paths, parameters, bodies and answers are those of the document. */
const CLIENT = `
import type { components, paths } from './api.js';

type Path = keyof paths;
type Verb = 'get' | 'post' | 'put' | 'patch' | 'delete';
type Operation<P extends Path, V extends Verb> = NonNullable<paths[P][V]>;
type Parameters<O> = O extends { parameters: { path: infer R; query?: infer Q } } ? { path: R; query?: Q } : never;
type Sent<O> = O extends { requestBody?: infer B } ? (NonNullable<B> extends { content: infer C } ? C : never) : never;
type Json<A> = A extends { content: { 'application/json': infer B } } ? B : never;
type Answer<O> = O extends { responses: infer R } ? { [S in keyof R]: S extends 'default' ? never : Json<R[S]> }[keyof R] : never;
type Type<O> = keyof Sent<O> & string;

export class Failed extends Error {
  constructor(readonly status: components['schemas']['Status']) {
    super(\`\${status.reason}: \${status.message}\`);
  }
}

export async function call<P extends Path, V extends Verb & keyof paths[P], T extends Type<Operation<P, V>>>(
  verb: V,
  template: P,
  parameters: Parameters<Operation<P, V>>,
  sent?: { type: T; body: Sent<Operation<P, V>>[T] },
): Promise<Answer<Operation<P, V>>> {
  const names: Record<string, string> = { ...parameters.path };
  const url = new URL(template.replace(/\\{(\\w+)\\}/g, (_, name: string) => names[name] ?? ''), SERVICE.url);
  for (const [name, value] of Object.entries({ ...parameters.query })) url.searchParams.set(name, String(value));
  const answer = await fetch(url, {
    method: verb.toUpperCase(),
    headers: { authorization: \`Bearer \${SERVICE.key}\`, ...(sent && { 'content-type': sent.type }) },
    ...(sent && { body: JSON.stringify(sent.body) }),
  });
  if (!answer.ok) throw new Failed(await answer.json());
  return await answer.json();
}

declare const process: { readonly env: Readonly<Record<string, string>> };
const SERVICE = { url: process.env['SERVICE_URL'] ?? '', key: process.env['SERVICE_KEY'] ?? '' };
const JOBS = '/apis/svc.dev/v1/namespaces/{namespace}/jobs';
const SANDBOXES = '/apis/svc.dev/v1/namespaces/{namespace}/sandboxes';
const here = { namespace: '${PROJECT}' };
`;

/** Does what clients do, and prints what it read. */
export const RIGHT = `${CLIENT}
type Phase = NonNullable<NonNullable<components['schemas']['Job']['status']>['phase']>;
const ended: Record<Phase, boolean> = {
  Pending: false, Running: false, Suspended: false, Succeeded: true, Failed: true, Cancelled: true,
};

const made = await call('post', JOBS, { path: here }, {
  type: 'application/json',
  body: {
    metadata: { name: 'typed', labels: { from: 'a-program' } },
    spec: { state: 'Suspended', command: ['true'], completions: 3, env: [{ name: 'A', value: 'b' }], resources: { cpu: '100m' } },
  },
});
const name: string = made.metadata.name ?? '';
const job = await call('get', \`\${JOBS}/{name}\`, { path: { ...here, name } });
const phase = job.status?.phase;
const over: boolean = phase === undefined ? false : ended[phase];
const jobs = await call('get', JOBS, { path: here, query: { labelSelector: 'from=a-program', limit: 10 } });
const version: string = jobs.metadata.resourceVersion ?? '';
const completions: (number | undefined)[] = jobs.items.map(({ spec }) => spec.completions);
const patched = await call('patch', \`\${JOBS}/{name}\`, { path: { ...here, name } }, {
  type: 'application/merge-patch+json',
  body: { metadata: { labels: { from: null } }, spec: { parallelism: 2, maxCostUSD: null } },
});
const tested = await call('patch', \`\${JOBS}/{name}\`, { path: { ...here, name } }, {
  type: 'application/json-patch+json',
  body: [{ op: 'replace', path: '/spec/parallelism', value: 3 }],
});

const box = await call('post', SANDBOXES, { path: here, query: { dryRun: 'All' } }, {
  type: 'application/json',
  body: { metadata: { name: 'typed' }, spec: { image: 'svc/agent-tools', lifecycle: { onIdle: 'Delete' } } },
});
const idle: string | undefined = box.spec.lifecycle?.idleTimeout;
const boxes = await call('get', SANDBOXES, { path: here });
const refused = await call('get', \`\${SANDBOXES}/{name}\`, { path: { ...here, name: 'absent' } }).catch((error) => error);
const stop = () =>
  call('patch', \`\${SANDBOXES}/{name}\`, { path: { ...here, name: 'typed' } }, {
    type: 'application/merge-patch+json',
    body: { spec: { state: 'Stopped' } },
  });

console.log(JSON.stringify({
  name,
  over,
  version,
  completions,
  parallelism: [patched.spec.parallelism, tested.spec.parallelism],
  labels: patched.metadata.labels ?? {},
  idle,
  boxes: boxes.items.length,
  refused: refused instanceof Failed ? refused.status.reason : 'something else',
  stop: typeof stop,
}));
`;

/** What must not compile: the last lines of a program, and what the compiler finds. */
export const WRONG: readonly (readonly [what: string, lines: string, finds: RegExp])[] = [
  [
    'a misspelt field of a spec',
    `await call('post', JOBS, { path: here }, { type: 'application/json', body: { metadata: { name: 'a' }, spec: { comand: ['true'] } } });`,
    /comand/,
  ],
  [
    'a value of another type',
    `await call('post', JOBS, { path: here }, { type: 'application/json', body: { metadata: { name: 'a' }, spec: { completions: '3' } } });`,
    /'string' is not assignable to type 'number'/,
  ],
  [
    'a value that an enum has not',
    `await call('patch', \`\${SANDBOXES}/{name}\`, { path: { ...here, name: 'a' } }, { type: 'application/merge-patch+json', body: { spec: { state: 'Sleeping' } } });`,
    /"Sleeping"/,
  ],
  [
    'a required field that is missing',
    `await call('post', SANDBOXES, { path: here }, { type: 'application/json', body: { metadata: { name: 'a' }, spec: {} } });`,
    /image/,
  ],
  [
    'a misspelt field of a patch',
    `await call('patch', \`\${JOBS}/{name}\`, { path: { ...here, name: 'a' } }, { type: 'application/merge-patch+json', body: { spec: { paralelism: 2 } } });`,
    /paralelism/,
  ],
  [
    'a field that an answer has not',
    `export const x = (await call('get', \`\${JOBS}/{name}\`, { path: { ...here, name: 'a' } })).status?.succeded;`,
    /succeded/,
  ],
  ['a path that is not there', `await call('get', '/apis/svc.dev/v1/jbos', { path: {} });`, /jbos/],
  ['a parameter that is missing', `await call('get', JOBS, { path: {} });`, /namespace/],
  ['a query parameter that is not there', `await call('get', JOBS, { path: here, query: { label: 'a' } });`, /label/],
];

export function wrongProgram(lines: string): string {
  return `${CLIENT}\n${lines}\n`;
}
