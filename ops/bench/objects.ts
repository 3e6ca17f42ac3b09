/** Makes the objects that are measured: 2 KB as sent, of text that does not compress away. */
import { createHash } from 'node:crypto';
import { API_GROUP } from '../../src/brand.js';

/** Bytes of a request's body. */
const BODY_BYTES = 2_048;

export interface BenchKind {
  readonly plural: string;
  body(name: string): string;
}

/** No machine to speak of: what is measured is the way of a write. */
export const SERVICE_ACCOUNT: BenchKind = {
  plural: 'serviceaccounts',
  body: (name) => filled('ServiceAccount', name, { description: 'measured' }),
};

/** As large, of text as people write it: it repeats itself. */
export const DESCRIBED_ACCOUNT: BenchKind = {
  plural: 'serviceaccounts',
  body: (name) => filled('ServiceAccount', name, { description: 'measured' }, prose),
};

/** The largest machine, at rest. */
export const SUSPENDED_JOB: BenchKind = {
  plural: 'jobs',
  body: (name) => filled('Job', name, { image: 'svc/agent-tools', command: ['true'], state: 'Suspended' }),
};

/** A Job that runs. `cpu` is a limit that is enforced, and counts for how many places there are. */
export function jobBody(
  name: string,
  command: readonly string[],
  indexes: { readonly completions: number; readonly parallelism: number; readonly cpu: string },
): string {
  const { completions, parallelism, cpu } = indexes;
  const resources = { cpu, memory: '16Mi', disk: '16Mi' };
  return JSON.stringify({
    ...head('Job', name, {}),
    spec: { image: 'svc/agent-tools', command, completions, parallelism, resources },
  });
}

/** One that idles, and is driven from outside. */
export function sandboxBody(name: string): string {
  const resources = { cpu: '2', memory: '128Mi', disk: '1Gi' };
  return JSON.stringify({ ...head('Sandbox', name, {}), spec: { image: 'svc/agent-tools', resources } });
}

function filled(
  kind: string,
  name: string,
  spec: object,
  text: (seed: string, length: number) => string = noise,
): string {
  const bare = JSON.stringify({ ...head(kind, name, { fill: '' }), spec });
  const fill = text(name, BODY_BYTES - Buffer.byteLength(bare));
  return JSON.stringify({ ...head(kind, name, { fill }), spec });
}

function head(kind: string, name: string, annotations: object): object {
  return { apiVersion: `${API_GROUP}/v1`, kind, metadata: { name, labels: { app: 'bench' }, annotations } };
}

/** Text that does not compress away, made once: a digest per request would cost the generator more than the request. */
const NOISE = Array.from({ length: 4_096 }, (_, n) => createHash('sha512').update(String(n)).digest('base64')).join('');

/** A piece of the noise; the same for the same name, so that a run can be repeated. */
function noise(seed: string, length: number): string {
  let at = 0;
  for (let i = 0; i < seed.length; i += 1) at = (at * 31 + seed.charCodeAt(i)) >>> 0;
  at %= NOISE.length - length;
  return NOISE.slice(at, at + length);
}

function prose(name: string, length: number): string {
  return `The account ${name} reads what its jobs have written and writes what they read. `.repeat(30).slice(0, length);
}
