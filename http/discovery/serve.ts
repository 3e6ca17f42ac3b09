/**
 * Answers discovery: which document for which path and Accept header. Documents depend on the registry alone, so
 * each is made once. Needs no key: it tells what the program can do and nothing of any tenant.
 */
import { acceptDiscovery } from '../accept.js';
import { notAcceptable } from '../errors.js';
import type { Exchange } from '../exchange.js';
import { JSON_TYPE, reply } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { aggregated } from './aggregated.js';
import { apiGroup, apiGroupList, coreVersions, kindsOf, resourceList, versionsOf } from './legacy.js';

export function openDiscovery(
  context: Pick<ServerContext, 'config' | 'kinds'>,
): (x: Exchange, segments: readonly string[]) => boolean {
  const { kinds } = context;
  const { group } = context.config;
  // Bounded: a few paths times three forms.
  const made = new Map<string, Buffer>();

  function legacy(segments: readonly string[]): unknown {
    const [root, first, second] = segments;
    if (root === 'api') return first === undefined ? coreVersions() : resourceList('v1', kindsOf(kinds, 'core', 'v1'));
    if (first === undefined) return apiGroupList(group, kinds);
    if (first !== group) return undefined;
    if (second === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group, kinds) };
    if (!versionsOf(kinds).includes(second)) return undefined;
    return resourceList(`${group}/${second}`, kindsOf(kinds, 'api', second));
  }

  function document(segments: readonly string[], form: string): Buffer | undefined {
    const key = `${segments.join('/')} ${form}`;
    const before = made.get(key);
    if (before !== undefined) return before;
    const value =
      form === 'legacy'
        ? legacy(segments)
        : aggregated(form as 'v2' | 'v2beta1', segments[0] === 'api' ? 'core' : 'api', group, kinds);
    if (value === undefined) return undefined;
    const bytes = Buffer.from(JSON.stringify(value));
    made.set(key, bytes);
    return bytes;
  }

  /** False: there is no such group or version. */
  return (x, segments) => {
    if (x.method !== 'GET') throw methodNotAllowed(x, ['GET']);
    const form = acceptDiscovery(x.req.headers.accept);
    if (form === undefined) throw notAcceptable();
    // Only the two roots have the aggregated shape.
    const aggregate = form.form === 'aggregated' && segments.length === 1 ? form.version : undefined;
    const body = document(segments, aggregate ?? 'legacy');
    if (body === undefined) return false;
    const type =
      aggregate === undefined
        ? JSON_TYPE
        : `${JSON_TYPE};g=apidiscovery.k8s.io;v=${aggregate};as=APIGroupDiscoveryList`;
    reply(x, 200, body, { 'content-type': type, vary: 'Accept' });
    return true;
  };
}
