/**
 * Opens the upstreams of the file and routes requests to them. While an upstream has never answered, or every route of it cools, it is
 * probed every 15 s, which costs nothing; requests are the only other thing that is learnt from.
 */
import type { DialectName } from './dialects/dialect.js';
import { openEcho, countEchoTokens } from './echo/open-echo.js';
import { forward, type ForwardContext, type NoteWeight } from './forward.js';
import { openHttpUpstream } from './http-upstream.js';
import { newRoute, type Route } from './route.js';
import { openProbes, type Reach } from './probes.js';
import type { ModelForm } from './dialects/translate.js';
import type { CountTokens, InferenceRouter, ModelRoutes } from './router.js';
import { standingOf } from './standing.js';
import type { Upstream } from './upstream.js';
import { ECHO_MODEL, type TokenizerName, type UpstreamsFile } from './upstreams-file.js';

export interface RouterDeps {
  loadTokenizer(name: TokenizerName): Promise<CountTokens>;
  /** For the operator's log: why a route was left. Names upstreams, no URLs, keys or texts. */
  note(message: string, weight: NoteWeight): void;
  /** The event loop's turns, for what is generated on it. */
  readonly turn?: ((tenant: string) => Promise<void>) | undefined;
  /** ms since the epoch; a test's own. */
  readonly now?: () => number;
  /** From 0 to below 1; a test's own. */
  readonly random?: () => number;
  readonly probeMs?: number;
}

export interface ServedModel {
  readonly name: string;
  /** What the upstream calls it; its name when undefined. */
  readonly as?: string | undefined;
  readonly countTokens?: CountTokens | undefined;
  readonly form?: ModelForm | undefined;
}

export interface RoutedUpstream {
  readonly upstream: Upstream;
  readonly priority?: number;
  readonly weight?: number;
  readonly models: readonly ServedModel[];
}

/** `keys`: by the name of the upstream, as `readKeys` has read them. */
export async function openInferenceRouter(
  file: UpstreamsFile,
  keys: ReadonlyMap<string, string>,
  deps: RouterDeps,
): Promise<InferenceRouter> {
  const routed: RoutedUpstream[] = [];
  for (const entry of file.upstreams) {
    const models: ServedModel[] = [];
    for (const { name, as, tokenizer, thinking } of entry.models) {
      const form = { thinking, maxTokensMember: entry.maxTokens ?? maxTokensAt(entry.baseURL) };
      models.push({ name, as, form, countTokens: tokenizer && (await deps.loadTokenizer(tokenizer)) });
    }
    const { name, dialect, baseURL, headers, maxConcurrent, priority, weight, timeouts } = entry;
    const upstream = openHttpUpstream({
      ...{ name, dialect, baseURL, headers, maxConcurrent, class: entry.class, key: keys.get(name) },
      mayFetch: entry.fetchImages ?? baseURL.startsWith('https:'),
      timeouts: { connectMs: timeouts.connect, firstByteMs: timeouts.firstByte, idleMs: timeouts.idle },
    });
    routed.push({ upstream, priority, weight, models });
  }
  if (file.echo) {
    const models = [{ name: ECHO_MODEL, countTokens: countEchoTokens }];
    const turn = deps.turn === undefined ? {} : { turn: deps.turn };
    routed.push({ upstream: openEcho({ now: deps.now ?? Date.now, ...turn }), models });
  }
  return routerOf(routed, deps);
}

/** The vendor's own newer models take no `max_tokens`; other servers may know nothing else. */
function maxTokensAt(baseURL: string): ModelForm['maxTokensMember'] {
  return new URL(baseURL).hostname === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens';
}

interface ModelEntry extends ModelRoutes {
  readonly byDialect: Readonly<Record<DialectName, readonly Route[]>>;
  readonly all: readonly Route[];
}

/** Over upstreams that are open; it closes them. */
export function routerOf(routed: readonly RoutedUpstream[], deps: RouterDeps): InferenceRouter {
  const { note, now = Date.now, random = Math.random } = deps;
  const routes: (Route & { readonly served: ServedModel })[] = routed.flatMap(
    ({ upstream, priority, weight, models }) =>
      models.map((served) => ({
        ...newRoute(upstream, served.as ?? served.name, priority, weight, served.form),
        served,
      })),
  );
  const models = new Map<string, ModelEntry>();
  for (const name of new Set(routes.map(({ served }) => served.name))) {
    const all = routes.filter(({ served }) => served.name === name);
    const of = (dialect: DialectName): Route[] => all.filter(({ upstream }) => upstream.dialects.has(dialect));
    models.set(name, {
      dialects: new Set(all.flatMap(({ upstream }) => [...upstream.dialects])),
      fetching: new Set(all.flatMap(({ upstream }) => (upstream.mayFetch ? [...upstream.dialects] : []))),
      countTokens: all.find(({ served }) => served.countTokens !== undefined)?.served.countTokens,
      byDialect: { OpenAI: of('OpenAI'), Anthropic: of('Anthropic') },
      all,
    });
  }

  const reached = new Map<string, Reach>(routed.map(({ upstream }) => [upstream.name, 'Unknown']));
  const answered = (upstream: string): void => void reached.set(upstream, 'Yes');
  const context: ForwardContext = { now, random, note, answered };
  const upstreams = routed.map(({ upstream }) => upstream);
  const probes = openProbes({ upstreams, routes, reached, now, ...(deps.probeMs && { everyMs: deps.probeMs }) });

  return {
    models: new Set(models.keys()),
    routesOf: (model) => models.get(model),
    forward(call) {
      const byDialect = models.get(call.model)?.byDialect;
      const tried = call.ways.map((way) => {
        const spoken = byDialect?.[way.dialect] ?? [];
        return { way, routes: call.fetches ? spoken.filter(({ upstream }) => upstream.mayFetch) : spoken };
      });
      return forward(call, tried, context);
    },
    standing: () => [...models].map(([model, { all }]) => standingOf(model, all, reached, now())),
    upstreams: () =>
      upstreams.map(({ name, inFlight }) => ({
        name,
        inFlight,
        up: standingOf(
          name,
          routes.filter(({ upstream }) => upstream.name === name),
          reached,
          now(),
        ).available,
      })),
    async close() {
      await probes.close();
      await Promise.all(upstreams.map((upstream) => upstream.close()));
    },
  };
}
