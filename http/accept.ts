/**
 * Which form of an answer the Accept header asks for: the object itself, a `Table`, `PartialObjectMetadata`, an
 * aggregated discovery list; JSON or YAML. Pure. Clients repeat a few headers for ever, so readings are kept.
 * Source: Kubernetes, "Alternate representations of resources".
 */

export type Form =
  | { readonly form: 'object'; readonly yaml: boolean }
  | { readonly form: 'table' }
  /** `PartialObjectMetadata`, or its list. */
  | { readonly form: 'partial' };

export type DiscoveryForm =
  | { readonly form: 'legacy' }
  | { readonly form: 'aggregated'; readonly version: 'v2' | 'v2beta1' };

interface Offer {
  readonly type: string;
  readonly as: string | undefined;
  readonly group: string | undefined;
  readonly version: string | undefined;
}

const OBJECT: Form = { form: 'object', yaml: false };
const YAML: Form = { form: 'object', yaml: true };
const TABLE: Form = { form: 'table' };
const PARTIAL: Form = { form: 'partial' };

function offers(accept: string): Offer[] {
  return accept
    .slice(0, 2048)
    .split(',')
    .map((part) => {
      const [type = '', ...parameters] = part.split(';').map((word) => word.trim());
      const named = new Map(parameters.map((word) => word.split('=', 2) as [string, string]));
      return { type: type.toLowerCase(), as: named.get('as'), group: named.get('g'), version: named.get('v') };
    });
}

const isJson = (type: string): boolean =>
  type === 'application/json' || type === '*/*' || type === 'application/*' || type === '';

function readForm(accept: string): Form | undefined {
  for (const { type, as, group, version } of offers(accept)) {
    if (as === undefined) {
      if (isJson(type)) return OBJECT;
      if (type === 'application/yaml') return YAML;
      continue;
    }
    if (!isJson(type) || group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) continue;
    if (as === 'Table') return TABLE;
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return PARTIAL;
  }
  return undefined;
}

function readDiscovery(accept: string): DiscoveryForm | undefined {
  for (const { type, as, group, version } of offers(accept)) {
    if (!isJson(type)) continue;
    if (as === undefined) return { form: 'legacy' };
    if (as !== 'APIGroupDiscoveryList' || group !== 'apidiscovery.k8s.io') continue;
    if (version === 'v2' || version === 'v2beta1') return { form: 'aggregated', version };
  }
  return undefined;
}

/** Full (200 headers, about 40 kB): forgotten at once; the header is read again. */
function remembering<T>(read: (accept: string) => T): (accept: string | undefined) => T {
  const known = new Map<string, T>();
  return (accept = '') => {
    const before = known.get(accept);
    if (before !== undefined) return before;
    const answer = read(accept);
    if (known.size >= 200) known.clear();
    if (accept.length <= 256) known.set(accept, answer);
    return answer;
  };
}

/** Undefined: nothing that we make is acceptable (406). */
export const acceptForm = remembering(readForm);
export const acceptDiscovery = remembering(readDiscovery);
