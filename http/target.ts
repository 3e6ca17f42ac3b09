/**
 * What a path under `/api` and `/apis` names. A handful of shapes over a Map of plurals: @koa/router would test one
 * pattern per kind and verb for each request, which costs more than the whole answer (300 patterns: a third of the rate).
 *
 * A segment is decoded and then must be a DNS name, so no encoded slash or blank can reach an address: an object of
 * such a name does not exist, and the answer is NotFound. What stands behind `…/{name}/ports/{port}` is the path of a
 * program inside and is kept as it was sent.
 */
import type { KindDefinition } from '../src/kinds/kind.js';

export type Target =
  /** `project` undefined: org level, or every project of a project kind. */
  | { readonly at: 'collection'; readonly kind: KindDefinition; readonly project: string | undefined }
  | { readonly at: 'object'; readonly kind: KindDefinition; readonly project: string; readonly name: string }
  /** `…/{name}/{below}[/{rest}…]`: status, an action, logs, outputs. */
  | {
      readonly at: 'below';
      readonly kind: KindDefinition;
      readonly project: string;
      readonly name: string;
      readonly below: string;
      readonly rest: readonly string[];
      /** Below an open route: the path behind the first of `rest`, as it was sent; it begins with a slash, or is empty. */
      readonly behind: string;
    }
  /** A route of its own beside the kinds: `blobs`, `events`. */
  | {
      readonly at: 'extra';
      /** `core` for `/api/v1`, else the version. */
      readonly group: string;
      readonly name: string;
      readonly project: string | undefined;
      readonly rest: readonly string[];
    }
  | { readonly at: 'discovery'; readonly segments: readonly string[] };

export type CollectionRouteTarget = Extract<Target, { at: 'extra' }>;
export type SubresourceTarget = Extract<Target, { at: 'below' }>;

export interface Targets {
  /** Undefined: the path names nothing. */
  resolve(path: string): Target | undefined;
}

/** RFC 1123 subdomain, as Kubernetes wants names; 253 is the bound on all kinds' names. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

export function isName(text: string): boolean {
  return NAME.test(text);
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    // No name, so that the path names nothing.
    return '%';
  }
}

/** Behind `/apis/{group}/{version}/namespaces/{project}/{plural}/{name}/ports/{port}` anything may stand. */
function cut(path: string): { readonly path: string; readonly behind: string } {
  if (!path.includes('/ports/')) return { path, behind: '' };
  const match = /^(\/apis\/[^/]+\/[^/]+\/namespaces\/[^/]+\/[^/]+\/[^/]+\/ports\/[^/]+)(\/.*)$/.exec(path);
  const [, before = path, behind = ''] = match ?? [];
  return { path: before, behind };
}

export function openTargets(group: string, kinds: readonly KindDefinition[], extras: ReadonlySet<string>): Targets {
  const byPlural = new Map<string, KindDefinition>();
  for (const kind of kinds) {
    byPlural.set(kind.group === 'core' ? `core/${kind.plural}` : `${kind.version}/${kind.plural}`, kind);
  }

  /** `rest` begins at the plural. */
  function below(
    prefix: string,
    project: string | undefined,
    rest: readonly string[],
    behind = '',
  ): Target | undefined {
    const plural = rest[0] ?? '';
    const kind = byPlural.get(`${prefix}/${plural}`);
    if (kind === undefined) {
      if (!extras.has(`${prefix}/${plural}`)) return undefined;
      return { at: 'extra', group: prefix, name: plural, project, rest: rest.slice(1) };
    }
    // A project kind is not served at org level below its plural, nor an org kind inside a project.
    if (kind.scope === 'org' && project !== undefined) return undefined;
    if (rest.length === 1) return { at: 'collection', kind, project };
    if (kind.scope === 'project' && project === undefined) return undefined;
    const name = rest[1] ?? '';
    if (!isName(name)) return undefined;
    const home = project ?? '';
    if (rest.length === 2) return { at: 'object', kind, project: home, name };
    return { at: 'below', kind, project: home, name, below: rest[2] ?? '', rest: rest.slice(3), behind };
  }

  return {
    resolve(whole) {
      const { path, behind } = cut(whole);
      const segments = path.includes('%') ? path.split('/').map(decode) : path.split('/');
      segments.shift();
      if (segments.length > 1 && segments.at(-1) === '') segments.pop();
      if (segments.length > 12 || segments.includes('')) return undefined;
      const [root, first, second] = segments;
      if (root === 'api') {
        if (segments.length <= 2)
          return first === undefined || first === 'v1' ? { at: 'discovery', segments } : undefined;
        if (first !== 'v1') return undefined;
        // `namespaces` is itself a kind: `/api/v1/namespaces/{ns}/events` is below a project, `…/{ns}/status` below the object.
        if (second === 'namespaces' && segments.length >= 5 && extras.has(`core/${segments[4] ?? ''}`)) {
          return isName(segments[3] ?? '') ? below('core', segments[3], segments.slice(4)) : undefined;
        }
        return below('core', undefined, segments.slice(2));
      }
      if (root !== 'apis') return undefined;
      if (segments.length <= 3) return { at: 'discovery', segments };
      if (first !== group || second === undefined) return undefined;
      if (segments[3] === 'namespaces' && segments.length >= 6) {
        const project = segments[4] ?? '';
        return isName(project) ? below(second, project, segments.slice(5), behind) : undefined;
      }
      return below(second, undefined, segments.slice(3));
    },
  };
}
