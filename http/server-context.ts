/** What all handlers share: the dependencies and the few things made of them once, at start. */
import type { ReadTurn } from '../actors/read-turns.js';
import type { Bodies } from './body.js';
import type { Admission } from './admission.js';
import type { AnswerMemory } from './answer-memory.js';
import type { AnswerPlaces } from './answer-places.js';
import type { Addresses } from './auth/addresses.js';
import type { Authenticator } from './auth/authenticator.js';
import type { Connections } from './connections.js';
import type { DecodedObjects } from './decoded-objects.js';
import type { Deadlines } from './deadline.js';
import type { HttpDeps } from './deps.js';
import type { LargeBodies } from './inference/large-bodies.js';
import type { InferenceMetrics } from './inference/metrics.js';
import type { InflightIdempotency } from './resources/inflight-idempotency.js';
import type { Renderings } from './table/rendering.js';
import type { HeavyTurns } from './heavy-turns.js';
import type { Rates } from './rate.js';
import type { Revocation } from './revocation.js';
import type { Streams } from './streams.js';
import type { ToolProcesses } from './tools/tool-processes.js';
import type { YamlWriter } from './yaml/writer.js';
import type { BrowserSessions } from './tools/browser-sessions.js';
import type { Waiting } from './watch/waiting.js';

export interface ServerContext extends HttpDeps {
  readonly authenticator: Authenticator;
  readonly addresses: Addresses;
  readonly connections: Connections;
  readonly admission: Admission;
  readonly bodies: Bodies;
  /** Of answers. */
  readonly yaml: Pick<YamlWriter, 'write'>;
  readonly heavyTurns: HeavyTurns;
  readonly answerPlaces: AnswerPlaces;
  /** What is kept for answers that come as a whole. */
  readonly answerMemory: AnswerMemory;
  readonly decodedObjects: DecodedObjects;
  /** Reads of the rows of children take turns. */
  readonly rowTurn: ReadTurn;
  readonly deadlines: Deadlines;
  readonly renderings: Renderings;
  readonly inflightIdempotency: InflightIdempotency;
  readonly inferenceMetrics: InferenceMetrics;
  /** Of requests to models. */
  readonly largeBodies: Pick<LargeBodies, 'isLarge' | 'read' | 'translate' | 'readAnswer'>;
  readonly streams: Streams;
  /** What waits in memory for watches. */
  readonly waiting: Waiting;
  /** For long answers that are no streams. */
  readonly revocation: Pick<Revocation, 'follow'>;
  readonly rates: Rates;
  /** Browser tools of Workspaces: who may use them, and which run. */
  readonly browserSessions: BrowserSessions;
  readonly toolProcesses: ToolProcesses;
  /** True from the beginning of a drain: no new writes, no new streams. */
  draining(): boolean;
}
