/**
 * The inference data plane as HTTP sees it: finds what a request names and whether its caller may use it, admits it by limits and money,
 * and sends it to an upstream. Nothing of a request's contents is kept.
 */
import { parseTime } from '../../src/api/time.js';
import { refuse } from '../../src/api/refusal.js';
import type { Forwarded, ForwardCall, InferenceRouter, ModelRoutes } from '../../src/engines/inference/router.js';
import type { LimitState } from '../../src/engines/inference/dialects/dialect.js';
import { costOf, largestCost, promptTokens, type Usage } from '../../src/money/model-prices.js';
import type { ModelPrice, PriceBook } from '../../src/money/price-book.js';
import { USD, ZERO } from '../../src/money/usd.js';
import type { Caller } from '../resource-service.js';
import type { BlockPayer, Blocks, Reservation } from './blocks.js';
import type { Directory, EndpointView, ModelView } from './directory.js';
import { LimitError } from './limit-error.js';
import type { InferenceLimits, LimitDecision } from './limits.js';
import type { Spool, SpooledFile } from './spool.js';

export const INVOKE = 'inference:invoke';
/** Before the name of an InferenceEndpoint, on the shared base. */
const ENDPOINT = 'endpoint/';
const DEFAULT_PROJECT = 'default';
const FREE: ModelPrice = {};
const NO_TOKENS = { input: 0, output: 0 };

/** What a request names, and who pays for it. */
export interface InferenceTarget {
  readonly model: ModelView;
  readonly endpoint: EndpointView | undefined;
  /** Where the scope is needed. */
  readonly project: string;
  readonly payer: BlockPayer;
  readonly price: ModelPrice;
  readonly routes: ModelRoutes | undefined;
}

/** What a request says that it is for. */
export interface Named {
  /** Of the path. */
  readonly endpoint: { readonly project: string; readonly name: string } | undefined;
  /** Empty: not known. */
  readonly model: string;
}

export interface Ask {
  /** At most; none are billed where `free`. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Caches of an hour may be written. */
  readonly longCache: boolean;
  readonly free: boolean;
  /** USD: what it costs at most where it is not billed by tokens. */
  readonly costUSD?: USD | undefined;
}

/** A request that was admitted. It has to be ended, once, however it goes. */
export interface AdmittedRequest {
  readonly limits: LimitState;
  /** USD: never more than was held for it. */
  priceOf(usage: Usage): USD;
  /** Of a stream: what it has cost so far (USD), by an estimate. */
  progress(costUSD: USD): void;
  /** In the place of `end`, of a request that is not billed by tokens: never more than was held for it. */
  charge(costUSD: USD): USD;
  /** `usage` undefined: it has failed and costs nothing. Answers what it is charged. Harmless twice. */
  end(usage: Usage | undefined): USD;
}

export interface InferenceService {
  /** Models of the catalog, whether or not something serves them. */
  models(): readonly { readonly model: ModelView; readonly available: boolean }[];
  /** Throws (or rejects with) a `RefusalError`. */
  find(caller: Caller, named: Named): InferenceTarget | Promise<InferenceTarget>;
  /** Throws (or rejects with) a `RefusalError`, a `LimitError` where limits refuse. */
  admit(target: InferenceTarget, ask: Ask): AdmittedRequest | Promise<AdmittedRequest>;
  /** A request was refused before it was admitted: an error of the endpoint that it names, where its caller may call that. */
  refused(caller: Caller, named: Named): void;
  forward(call: ForwardCall): Promise<Forwarded>;
  /** A file without a name for what one request brings. Rejects with a refusal: too many, or no room on the disk. */
  spool(org: string): Promise<SpooledFile>;
  /** Calls `end` when what pays for this request is being deleted, until the returned function is called. */
  follow(target: InferenceTarget, end: () => void): () => void;
}

/** What only the leader itself asks. */
export interface OpenedService extends InferenceService {
  /** This InferenceEndpoint, or project, is being deleted: its requests end now, since nothing will pay for them. */
  endRequests(uid: string): void;
}

export interface ServiceDeps {
  readonly directory: Directory;
  readonly router: InferenceRouter;
  readonly limits: InferenceLimits;
  readonly blocks: Blocks;
  prices(): PriceBook;
  readonly spool: Spool;
  /** ms since the epoch. */
  clock(): number;
}

export function openInferenceService(deps: ServiceDeps): OpenedService {
  const { directory, router, limits, blocks, clock } = deps;

  /** What ends each request that runs, by its payer. As many as there are streams (`http/streams.ts`). */
  const running = new Map<string, Set<() => void>>();

  const isServed = (model: ModelView): boolean => {
    const ends = model.spec.deprecationTime && parseTime(model.spec.deprecationTime);
    return !(ends && ends <= clock());
  };

  function target(model: ModelView, endpoint: EndpointView | undefined, payer: BlockPayer): InferenceTarget {
    const { models } = deps.prices();
    const price = Object.hasOwn(models, model.name) ? models[model.name] : undefined;
    const project = endpoint?.address.project ?? payer.payer.project;
    return { model, endpoint, project, payer, price: price ?? FREE, routes: router.routesOf(model.name) };
  }

  function modelOf(text: string): ModelView {
    const model = directory.model(text);
    if (model !== undefined && isServed(model)) return model;
    const message = model === undefined ? 'does not exist' : `is served no more since ${model.spec.deprecationTime}`;
    throw refuse('NotFound', `the model "${text.slice(0, 200)}" ${message}`, {
      fix: 'GET /v1/models lists the models.',
      causes: [{ field: 'model', reason: 'NotFound', message }],
    });
  }

  function throughEndpoint(
    caller: Caller,
    endpoint: EndpointView | undefined,
    name: string,
    model: string,
  ): InferenceTarget {
    if (endpoint === undefined) throw noEndpoint(name);
    const own = modelOf(endpoint.model);
    // A client has to name a model; another one than the endpoint's is a mistake.
    const names = [name, `${ENDPOINT}${name}`, `${ENDPOINT}${endpoint.address.project}/${name}`];
    const isOwn = names.includes(model) || directory.model(model) === own;
    if (!isOwn) {
      throw refuse('BadRequest', `the InferenceEndpoint "${name}" serves ${own.name}, not "${model.slice(0, 200)}"`, {
        fix: `Send "model": "${own.name}".`,
        causes: [{ field: 'model', reason: 'FieldValueInvalid', message: `must be ${own.name}` }],
      });
    }
    checkEndpoint(caller, endpoint);
    return target(own, endpoint, endpoint.payer);
  }

  function find(caller: Caller, named: Named): InferenceTarget | Promise<InferenceTarget> {
    const { model } = named;
    const { project, name } = placeOf(caller, named);
    if (!caller.may(INVOKE, project)) throw forbidden(caller, project);
    if (name !== undefined) {
      const found = directory.endpoint(caller.org, project, name);
      if (found instanceof Promise) return found.then((view) => throughEndpoint(caller, view, name, model));
      return throughEndpoint(caller, found, name, model);
    }
    const meant = modelOf(model);
    const payer = directory.project(caller.org, project);
    if (payer instanceof Promise) return payer.then((known) => target(meant, undefined, known ?? noProject(project)));
    return target(meant, undefined, payer ?? noProject(project));
  }

  function admitted(
    { price, payer }: InferenceTarget,
    ask: Ask,
    decision: Extract<LimitDecision, { outcome: 'Admitted' }> | undefined,
    reservation: Reservation | undefined,
    most: USD,
  ): AdmittedRequest {
    const priceOf = (usage: Usage): USD => {
      const cost = costOf(price, usage);
      return cost.gt(most) ? most : cost;
    };
    /** What an upstream reports beyond what it may is shown nowhere. */
    const countOf = (usage: Usage | undefined): { input: number; output: number } => ({
      input: usage === undefined ? 0 : Math.min(promptTokens(usage), ask.inputTokens),
      output: usage === undefined ? 0 : Math.min(usage.outputTokens, ask.outputTokens),
    });
    let charged: USD | undefined;
    const settle = (costUSD: USD, tokens: { input: number; output: number }, how: 'Done' | 'Failed'): USD => {
      if (charged !== undefined) return charged;
      decision?.release(tokens.input + tokens.output);
      if (reservation === undefined) blocks.count(payer, how);
      charged = reservation?.settle(USD.min(costUSD, most), tokens) ?? ZERO;
      return charged;
    };
    return {
      limits: decision?.state ?? {},
      priceOf,
      progress: (costUSD) => reservation?.progress(USD.min(costUSD, most)),
      charge: (costUSD) => settle(costUSD, NO_TOKENS, 'Done'),
      end: (usage) =>
        settle(usage === undefined ? ZERO : priceOf(usage), countOf(usage), usage === undefined ? 'Failed' : 'Done'),
    };
  }

  /** Money comes last: what limits refuse holds nothing. */
  function draw(
    asked: InferenceTarget,
    ask: Ask,
    decision: LimitDecision | undefined,
  ): AdmittedRequest | Promise<AdmittedRequest> {
    if (decision?.outcome === 'Refused') {
      blocks.count(asked.payer, 'Failed');
      throw new LimitError(decision, asked.endpoint?.limits);
    }
    const most = ask.free ? ZERO : (ask.costUSD ?? largestCost(asked.price, ask));
    // A hold of nothing would count a request that was served as an error.
    if (ask.free || (ask.costUSD?.isZero() ?? false)) return admitted(asked, ask, decision, undefined, most);
    const giveBack = (error: unknown): never => {
      decision?.release(0);
      blocks.count(asked.payer, 'Failed');
      throw error;
    };
    try {
      const drawn = blocks.draw(asked.payer, most);
      if (!(drawn instanceof Promise)) return admitted(asked, ask, decision, drawn, most);
      return drawn.then((reservation) => admitted(asked, ask, decision, reservation, most), giveBack);
    } catch (error) {
      return giveBack(error);
    }
  }

  return {
    models: () => {
      const standing = new Map(router.standing().map(({ model, available }) => [model, available]));
      return directory
        .models()
        .filter(isServed)
        .map((model) => ({ model, available: standing.get(model.name) ?? false }));
    },
    find,
    admit(asked, ask) {
      const { endpoint } = asked;
      if (endpoint === undefined) return draw(asked, ask, undefined);
      const { org } = endpoint.address;
      const tokens = ask.inputTokens + ask.outputTokens;
      const decision = limits.take({ org, uid: endpoint.uid }, endpoint.limits, ask.free ? 0 : tokens);
      if (decision instanceof Promise) return decision.then((made) => draw(asked, ask, made));
      return draw(asked, ask, decision);
    },
    refused(caller, named) {
      const { project, name } = placeOf(caller, named);
      if (name === undefined || !caller.may(INVOKE, project)) return;
      const count = (view: EndpointView | undefined): void => {
        if (view !== undefined) blocks.count(view.payer, 'Failed');
      };
      const found = directory.endpoint(caller.org, project, name);
      // Storage that is silent counts nothing: the client has its answer.
      if (found instanceof Promise) found.then(count, () => undefined);
      else count(found);
    },
    forward: router.forward,
    spool: (org) => deps.spool.open(org),
    follow({ payer: { id } }, end) {
      const own = running.get(id) ?? new Set();
      running.set(id, own.add(end));
      return () => {
        own.delete(end);
        if (own.size === 0 && running.get(id) === own) running.delete(id);
      };
    },
    endRequests(uid) {
      for (const end of running.get(uid) ?? []) end();
    },
  };
}

/** `name`: of the InferenceEndpoint, where one is named. */
function placeOf(caller: Caller, { endpoint, model }: Named): { readonly project: string; readonly name?: string } {
  if (endpoint !== undefined) return endpoint;
  if (!model.startsWith(ENDPOINT)) return { project: projectOf(caller) };
  // A key of several projects says which: endpoint/<project>/<name>.
  const [first = '', second] = model.slice(ENDPOINT.length).split('/');
  return second === undefined ? { project: projectOf(caller), name: first } : { project: first, name: second };
}

/** Of requests on the shared base: the ServiceAccount's, else the key's only one, else `default`. */
function projectOf({ serviceAccount, projects }: Caller): string {
  if (serviceAccount !== undefined) return serviceAccount.project;
  const [only, ...others] = projects ?? [];
  return only !== undefined && others.length === 0 ? only : DEFAULT_PROJECT;
}

function checkEndpoint({ name, credential }: Caller, { address, state, allowedKeys }: EndpointView): void {
  const listed = credential?.kind === 'APIKey' && (allowedKeys?.has(credential.name) ?? false);
  if (allowedKeys !== undefined && !listed) {
    throw refuse(
      'Forbidden',
      `the key of ${name} is not among spec.allowedKeys of InferenceEndpoint "${address.name}"`,
      {
        fix: 'Use a key that is listed there, or have this one added.',
      },
    );
  }
  if (state !== 'Stopped') return;
  throw refuse('Unavailable', `InferenceEndpoint "${address.name}" is stopped`, {
    retryAfterSeconds: 'Never',
    fix: 'Set its spec.state to Running.',
  });
}

/** `project`: '' where the request has not named one yet. */
export function forbidden({ name }: Caller, project: string): Error {
  if (project === '')
    return refuse('Forbidden', `${name} needs the scope ${INVOKE}`, {
      fix: `Use a key that carries the scope ${INVOKE}.`,
    });
  return refuse('Forbidden', `${name} needs the scope ${INVOKE} in project "${project}"`, {
    fix: `Use a key that carries the scope ${INVOKE} in project "${project}", or name an InferenceEndpoint of another one: "model": "endpoint/<project>/<name>".`,
  });
}

function noEndpoint(name: string): Error {
  return refuse('NotFound', `InferenceEndpoint "${name.slice(0, 253)}" not found`, {
    fix: 'Check the project and name in the base URL, or the name behind endpoint/ in "model".',
    causes: [{ field: 'model', reason: 'NotFound', message: 'does not exist' }],
  });
}

function noProject(project: string): never {
  throw refuse('NotFound', `the project "${project}" does not exist`, { fix: 'Use a key of a project that exists.' });
}
