/**
 * The layers that every request passes before its handler, each a function of the exchange and of what comes behind it. A
 * layer lets the request go on (`next`), answers it, or throws; what is thrown is answered by `answerErrors` alone.
 * `application.ts` has their order. They know nothing of Koa, so that a connection that leaves HTTP passes the same ones.
 */
import { refuse } from '../src/api/refusal.js';
import type { AccessLog } from './access-log.js';
import { admit, admitAs } from './auth/admit.js';
import { extractCredential } from './auth/extract-credential.js';
import type { HttpLog } from './deps.js';
import { impersonation, refuseCheaply, repeatedHeader } from './early-refusals.js';
import { answerError } from './errors.js';
import type { Exchange } from './exchange.js';
import { gate, isHealth, noSuchPath } from './handle.js';
import { answerModelCalls, isInference } from './inference/serve.js';
import { observeExchange, type HttpMetrics } from './metrics.js';
import type { ServerContext } from './server-context.js';
import type { Targets } from './target.js';
import { serveTool } from './tools/serve.js';
import { isTool } from './tools/tool-address.js';

export type Layer = (x: Exchange, next: () => Promise<void>) => Promise<void>;

/** An address that has sent too much without a known key gets the cheapest answer: no count, no line. */
export function refuseSpentAddresses({ addresses, authenticator }: ServerContext): Layer {
  return (x, next) => {
    const isRefused =
      addresses.isSpent(x.from) && !isHealth(x.path) && !authenticator.wasKnown(x.req.headers.authorization);
    return isRefused ? refuseCheaply(x.res) : next();
  };
}

/** Requests whose answer is not complete, streams left out: what a drain waits for. */
export interface Working {
  count: number;
}

/** Counts the request while it is worked on, and its answer in the metrics and the access log. */
export function countRequests(working: Working, metrics: HttpMetrics, accessLog: AccessLog | undefined): Layer {
  return async (x, next) => {
    let counted = true;
    working.count += 1;
    x.leaveFlight = () => {
      if (counted) working.count -= 1;
      counted = false;
      x.place?.leave();
    };
    try {
      await next();
    } finally {
      x.leaveFlight();
      x.place?.end();
    }
    const status = x.failedWith ?? x.res.statusCode;
    observeExchange(metrics, x, status);
    accessLog?.(x, status);
  };
}

/** The one funnel: whatever is thrown behind it becomes the answer. */
export function answerErrors(log: HttpLog): Layer {
  return async (x, next) => {
    try {
      await next();
    } catch (error) {
      x.failedWith = answerError(x, error, log);
    }
  };
}

/** What could mean one thing here and another one elsewhere, or nothing at all. */
export const refuseAmbiguous: Layer = (x, next) => {
  const header = repeatedHeader(x.req);
  if (header !== undefined) {
    x.res.shouldKeepAlive = false;
    const fix = `Send one ${header} header.`;
    throw refuse('BadRequest', `the request has more than one ${header} header`, { fix });
  }
  if (x.upgrade === undefined && x.hasQuery && x.url.includes('%00', x.path.length)) {
    // Postgres keeps no U+0000, so nothing can be meant by it in a selector or a cursor. (In a path it names nothing.)
    const field = [...x.query].find(([, value]) => value.includes('\0'))?.[0] ?? '';
    const causes = [
      { field: field.slice(0, 64), reason: 'FieldValueInvalid', message: 'must not hold the character U+0000' },
    ];
    throw refuse('BadRequest', 'the query holds a null character', { causes, fix: 'Leave the character out.' });
  }
  return next();
};

/** The inference data plane, whose errors have the form of its clients' dialect. */
export function serveModelCalls(context: ServerContext): Layer {
  return (x, next) => (isInference(x.path) ? answerModelCalls(x, context, next) : next());
}

/** Browser tools, which have their own credential: the cookie of a link. */
export function serveTools(context: ServerContext): Layer {
  return (x, next) => (isTool(x.path) ? serveTool(x, context) : next());
}

/** Which kind and object the path names. */
export function findTarget(targets: Targets, { config }: ServerContext): Layer {
  return (x, next) => {
    if (config.limits.stalledSeconds !== undefined) x.stallMs = config.limits.stalledSeconds * 1_000;
    x.target = targets.resolve(x.path);
    if (x.target?.at === 'extra') x.resource = x.target.name;
    else if (x.target?.at === 'discovery') x.resource = x.verb = 'discovery';
    else if (x.target !== undefined) x.resource = x.target.kind.plural;
    return next();
  };
}

/** Finds the caller, counts the request against the caller's rate, and takes a place in flight. Discovery needs no key. */
export function authenticate(context: ServerContext): Layer {
  const { authenticator, addresses } = context;
  return (x, next) => {
    const { target } = x;
    if (target?.at === 'discovery') {
      if (!authenticator.wasKnown(x.req.headers.authorization)) addresses.demand(x.from);
      return next();
    }
    gate(x, context);
    const goOn = (): Promise<void> => {
      // A client with any key learns that a path does not exist; without one the answer is Unauthorized.
      if (target === undefined) throw noSuchPath(x);
      const header = impersonation(x.req);
      if (header === undefined) return next();
      throw refuse(
        'Unsupported',
        `the header ${header.slice(0, 64)} is not supported: a request acts as the holder of its key`,
        {
          fix: 'Leave it out (kubectl: no --as), or send a key of the caller that it is to act as.',
        },
      );
    };
    const key = target === undefined ? x.req.headers.authorization : extractCredential(x.req, x.upgrade !== undefined);
    const identity = authenticator.known(key);
    if (identity === undefined) return admit(x, context, key).then(goOn);
    // A known key waits for nothing.
    admitAs(x, context, identity);
    return goOn();
  };
}
