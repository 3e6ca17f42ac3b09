/**
 * The answer of routes that are declared and not served yet: what the built route will refuse is refused already
 * (credentials, scope, method, an object that does not exist), and then 501 Unsupported names the route.
 */
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readBytes } from '../resources/read.js';
import type { ServerContext } from '../server-context.js';
import { matchesDeclared } from './declared/declared.js';
import { declaredSubresources } from './declared/index.js';

function notServed(method: string, path: string): Error {
  const message = `${method} ${path} is not served yet`;
  return refuse('Unsupported', message, {
    fix: '/openapi.json describes every route and says which are not served yet.',
    causes: [{ field: '', message, reason: 'Unsupported' }],
  });
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
