/**
 * The answer of routes that are declared and not served yet: what the built route will refuse is refused already
 * (credentials, scope, method, an object that does not exist), and then 501 Unsupported names the route.
 */
import { MAX_CAUSES } from '../../src/api/causes.js';
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf, requireScope } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget, CollectionRouteTarget } from '../target.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readBytes } from '../resources/read.js';
import type { ServerContext } from '../server-context.js';
import { matchesDeclared } from './declared/declared.js';
import { DECLARED_COLLECTION_ROUTES, declaredSubresources } from './declared/index.js';

/** `fields`: of the body. */
function notServed(method: string, path: string, fields: readonly string[] = []): Error {
  const route = `${method} ${path}`;
  const named = fields.slice(0, MAX_CAUSES).map((field) => ({ field, message: 'not supported yet' }));
  const causes = named.length > 0 ? named : [{ field: '', message: `${route} is not served yet` }];
  return refuse(
    'Unsupported',
    `${route} is not served yet${named.length > 0 ? `: ${fields.join(', ').slice(0, 512)}` : ''}`,
    {
      fix: '/openapi.json describes every route and says which are not served yet.',
      causes: causes.map((cause) => ({ ...cause, reason: 'Unsupported' })),
    },
  );
}

/** The declared route that fits; refuses a method that no route of this path has. Undefined: no route has this path. */
function choose<R extends { readonly method: string }>(x: Exchange, candidates: readonly R[]): R | undefined {
  if (candidates.length === 0) return undefined;
  const found = candidates.find(({ method }) => method === x.method);
  if (found !== undefined) return found;
  throw methodNotAllowed(
    x,
    candidates.map(({ method }) => method),
  );
}

/** Comes back when nothing is declared at this path. */
export async function refuseSubresource(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const { kind, project, name, below, rest } = target;
  const segments = [below, ...rest];
  const route = choose(
    x,
    declaredSubresources(kind).filter(({ path }) => matchesDeclared(path, segments)),
  );
  if (route === undefined) return;
  x.verb = route.verb;
  const address = addressOf(caller, kind, project, name, route.verb);
  // No object of a kind that is not built can exist, so asking for one would hide what is missing.
  if (kind.unbuilt !== true) await readBytes(context, kind, address);
  throw notServed(route.method, `…/${kind.plural}/{name}/${route.path}`);
}

/** `PATCH /apis/{group}/v1/wallet`; `fields`: of the body. Comes back when nothing is declared at this path. */
export function refuseCollectionRoute(
  x: Exchange,
  caller: Caller,
  target: CollectionRouteTarget,
  fields: readonly string[],
): void {
  const route = choose(
    x,
    DECLARED_COLLECTION_ROUTES.filter(
      ({ beside, path }) => beside === target.name && matchesDeclared(path, target.rest),
    ),
  );
  if (route === undefined) return;
  x.verb = 'patch';
  requireScope(caller, route.scope, '');
  throw notServed(route.method, `…/${route.beside}${route.path === '' ? '' : `/${route.path}`}`, fields);
}
