/** Makes what all handlers share, once, at start, and ends it. */
import { decodeObject } from '../src/api/encode.js';
import { openReadTurns } from '../actors/read-turns.js';
import { openAnswerMemory } from './answer-memory.js';
import { openAnswerPlaces } from './answer-places.js';
import { openAdmission } from './admission.js';
import { openAddresses } from './auth/addresses.js';
import { openAuthenticator } from './auth/authenticator.js';
import { openBodies } from './body.js';
import { openConnections } from './connections.js';
import { openDecodedObjects } from './decoded-objects.js';
import { openDeadlines } from './deadline.js';
import type { HttpDeps } from './deps.js';
import { traceOf } from './errors.js';
import { openHeavyTurns } from './heavy-turns.js';
import { openRates } from './rate.js';
import { openLargeBodies } from './inference/large-bodies.js';
import { openInferenceMetrics } from './inference/metrics.js';
import { openInflightIdempotency } from './resources/inflight-idempotency.js';
import { openRevocation, type Revocation } from './revocation.js';
import type { ServerContext } from './server-context.js';
import { openStreams } from './streams.js';
import { openRenderings } from './table/rendering.js';
import { openBrowserSessions } from './tools/browser-sessions.js';
import { openToolProcesses } from './tools/tool-processes.js';
import { toolAddressOf } from './tools/tool-address.js';
import { openWaiting, WAITING_BYTES } from './watch/waiting.js';
import { openYamlWriter } from './yaml/writer.js';

/** Reads of the rows of children that are at Postgres at once: a part of its readers. */
const ROWS_READING = 2;

export interface OpenContext {
  readonly context: ServerContext;
  readonly revocation: Revocation;
  /** Ends streams, workers and timers at once. */
  close(): void;
}

export function openServerContext(deps: HttpDeps, draining: () => boolean): OpenContext {
  const { limits } = deps.config;
  const deadlines = openDeadlines(limits.requestSeconds);
  const heavyTurns = openHeavyTurns();
  const bodies = openBodies(limits.bodyBytes, heavyTurns);
  const yaml = openYamlWriter();
  const largeBodies = openLargeBodies({
    note: (error) => deps.log.error(traceOf(error), 'the thread for large bodies has failed'),
  });
  const addresses = openAddresses(limits.rates.address);
  const connections = openConnections(limits.connections ?? {});
  const authenticator = openAuthenticator({
    ...{ credentials: deps.credentials, clock: deps.clock, addresses },
    onUse: deps.onCredentialUse,
    async principals(address) {
      const body = deps.resources.peek(address) ?? (await deps.resources.read(address, deadlines.current()));
      return body && decodeObject(body);
    },
  });
  const revocation = openRevocation({ authenticator, clock: deps.clock });
  const streams = openStreams(limits.streams, limits.streamsPerKey, revocation);
  const context: ServerContext = {
    ...deps,
    authenticator,
    addresses,
    connections,
    revocation,
    admission: openAdmission({ ...limits.inFlight, bodyBytes: limits.bodyMemoryBytes }),
    bodies,
    yaml,
    heavyTurns,
    answerPlaces: openAnswerPlaces(),
    answerMemory: openAnswerMemory(limits.answerBytes),
    decodedObjects: openDecodedObjects(heavyTurns),
    rowTurn: openReadTurns({ places: ROWS_READING, shared: false }),
    deadlines,
    streams,
    waiting: openWaiting(limits.watchBytes ?? WAITING_BYTES),
    rates: openRates(limits.rates),
    browserSessions: openBrowserSessions({
      placeOf: (session) => toolAddressOf(session, deps.config.toolDomain),
      key: deps.browserSessionKey,
      randomBytes: deps.randomBytes,
      clock: deps.clock,
    }),
    toolProcesses: openToolProcesses(deps.commands),
    renderings: openRenderings(deps.config.group, deps.clock),
    inflightIdempotency: openInflightIdempotency(),
    inferenceMetrics: openInferenceMetrics(deps.metrics),
    largeBodies,
    draining,
  };
  return {
    context,
    revocation,
    close() {
      streams.endAll();
      streams.close();
      bodies.close();
      yaml.close();
      largeBodies.close();
      deadlines.close();
    },
  };
}
