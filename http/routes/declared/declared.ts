/**
 * What a route that is not served yet says about itself: enough for the OpenAPI document, and enough to refuse a request
 * as the built one will (credentials, scope, method) before it answers 501. The change that builds a subresource moves its
 * name in the kind's declaration from `unservedSubresources` to `subresources`, and its description to `http/openapi`.
 */
import type { AccessVerb } from '../../auth/authorise.js';
import type { Route } from '../../openapi/route.js';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

type Described = Omit<Route, 'description' | 'open'> & { readonly method: Method };

/** `…/{plural}/{name}/{path}`. */
export interface SubresourceRoute extends Described {
  /** `processes/{id}/stdin`. A last segment `{path+}` stands for any rest. */
  readonly path: string;
  readonly verb: AccessVerb;
}

/** The routes of one subresource of a kind, from the kind's name (`Volume`). */
export type DescribeSubresource = (kind: string) => readonly SubresourceRoute[];

/** True when the segments fit the template. */
export function matchesDeclared(template: string, segments: readonly string[]): boolean {
  const parts = template === '' ? [] : template.split('/');
  const open = parts.at(-1)?.endsWith('+}') ?? false;
  if (open ? segments.length < parts.length : segments.length !== parts.length) return false;
  return parts.every((part, index) => part.startsWith('{') || part === segments[index]);
}

/** The template as OpenAPI writes it. */
export function openapiPath(template: string): string {
  return template.replace('+}', '}');
}
