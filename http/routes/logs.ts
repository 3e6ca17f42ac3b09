/**
 * Serves `…/logs`: which log is meant, and streaming its lines with back-pressure.
 * Where lines come from is the engine's matter (`Logs`).
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { readDuration } from '../../src/api/duration.js';
import type { ApiObject } from '../../src/api/object.js';
import { refuse } from '../../src/api/refusal.js';
import { parseTime } from '../../src/api/time.js';
import type { Caller } from '../../actors/resource-service.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { LogLine } from '../../src/engines/compute/contract/engine.js';
import { addressOf, stillMay } from '../auth/authorise.js';
import { badParameter } from '../bad-parameter.js';
import type { LogRequest } from '../../actors/work/logs.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { LineBlocks } from '../line-blocks.js';
import { LogText } from '../log-text.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readBytes } from '../resources/read.js';
import { readFlag } from '../resources/versions.js';
import type { ServerContext } from '../server-context.js';
import { checkContainer, OF_PROCESS } from './containers.js';
import { parseProcessId } from './process-id.js';

/** A follower to which no line has come is answered after this, ms: clients and proxies give up on one that waits for headers. */
const CONNECTED_MS = 1_000;
/** `process-` and an id. */
const LONGEST_CONTAINER = 300;
/** Of `tail`. */
const MOST_LINES = 1_000_000;

interface LogForm {
  readonly timestamps: boolean;
  /** Bytes. */
  readonly most: number;
}

export async function serveLogs(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const { kind, project, name } = target;
  if (target.rest.length > 0) throw refuse('NotFound', 'logs has no subpaths');
  if (x.method !== 'GET') throw methodNotAllowed(x, ['GET']);
  x.verb = 'logs';
  const address = addressOf(caller, kind, project, name, 'read');
  const body = await readBytes(context, kind, address);
  // Of many that are opened at once, as by one who follows a thousand, few hold the event loop in one turn.
  await context.resources.slice(caller.org);
  const owner = decodeObject(body);
  const asked = readLogRequest(x, kind.indexes?.(owner) ?? 1, context.clock());
  const works = await whatWorks(context, kind, address, owner);
  if (works !== undefined) checkContainer(asked.container, works);
  // An Attempt's own names of processes have no epoch.
  const request = works === owner ? ofProcess(asked, owner.metadata.uid) : asked;
  const timestamps = readFlag(x.query, 'timestamps') ?? false;
  const most = readCount(x, 'limitBytes', Number.MAX_SAFE_INTEGER) ?? Number.POSITIVE_INFINITY;

  const release = context.streams.add(x, {
    allows: stillMay(kind, project, name, 'read'),
    end() {
      begin(x);
      x.res.end();
    },
  });
  const early = request.follow ? setTimeout(() => begin(x), CONNECTED_MS) : undefined;
  const blocks = new LineBlocks(x.res, {
    org: caller.org,
    places: context.answerPlaces,
    gone: x.gone,
    nextSlice: () => context.resources.slice(caller.org),
  });
  try {
    const lines = await context.logs.open(address, owner.metadata.uid, request, x.gone, blocks.pace);
    if (lines === undefined) {
      // It has waited for work that never began.
      if (x.res.headersSent) return void x.res.end();
      throw refuse('NotFound', `${kind.kind} "${name}" has no log of ${describe(kind, request)}`, {
        fix: 'Look at the attempts of the object: a log begins when its program starts.',
      });
    }
    await streamLines(x, blocks, lines, { timestamps, most });
  } finally {
    clearTimeout(early);
    blocks.free();
    release();
  }
}

/** The object whose spec says what runs: itself, or its owner, when the kind has no plan of work; undefined: the owner is gone. */
async function whatWorks(
  context: ServerContext,
  kind: KindDefinition,
  address: Address,
  object: ApiObject,
): Promise<ApiObject | undefined> {
  if (kind.workPlan !== undefined) return object;
  const [reference] = object.metadata.ownerReferences ?? [];
  if (reference === undefined) return undefined;
  const { name, uid } = reference;
  const at = { ...address, kind: reference.kind, name };
  const body = context.resources.peek(at) ?? (await context.resources.read(at, context.deadlines.current()));
  const owner = body && decodeObject(body);
  return owner?.metadata.uid === uid ? owner : undefined;
}

/** A follower sees that it is connected before the first line comes. */
function begin({ res, requestId }: Exchange): void {
  if (res.headersSent || res.destroyed) return;
  res.writeHead(200, {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache, private',
    'x-request-id': requestId,
  });
  res.flushHeaders();
}

/** At most so many bytes; the last line may be cut, as Kubernetes cuts it. What refuses the first line is answered as any error. */
async function streamLines(
  x: Exchange,
  blocks: LineBlocks,
  lines: AsyncIterable<LogLine>,
  { timestamps, most }: LogForm,
): Promise<void> {
  let left = most;
  const text = new LogText(timestamps);
  const bytesOf = (piece: LogLine): Uint8Array | undefined => {
    begin(x);
    if (left <= 0) return undefined;
    const line = text.bytesOf(piece);
    left -= line.length;
    return left < 0 ? line.subarray(0, left) : line;
  };
  try {
    if (!(await blocks.write(lines, bytesOf))) return;
  } catch (error) {
    if (!x.abandoned && !x.gone.aborted) throw error;
  }
  begin(x);
  if (!x.res.destroyed) x.res.end();
}

/** `process-<id>`, by the id that clients have, which names its epoch too. */
function ofProcess(request: LogRequest, uid: string): LogRequest {
  if (!request.container.startsWith(OF_PROCESS)) return request;
  const process = parseProcessId(request.container.slice(OF_PROCESS.length));
  if (process === undefined) throw refuse('NotFound', 'process not found');
  const { id, epoch } = process;
  if (process.uid !== uid || (request.epoch ?? epoch) !== epoch) throw refuse('NotFound', 'process not found');
  return { ...request, epoch, container: `${OF_PROCESS}${id}` };
}

function describe(kind: KindDefinition, { index, epoch, container }: LogRequest): string {
  const at = epoch === undefined ? '' : `epoch ${epoch}`;
  const which =
    kind.indexes !== undefined
      ? [`index ${index}`, at].filter((word) => word !== '').join(', ')
      : at === ''
        ? 'this epoch'
        : at;
  return container === 'main' ? which : `${which}, container "${container}"`;
}

/** `last`: the largest that there is; a larger one is not malformed. */
function readCount(x: Exchange, name: string, max: number, last = max): number | undefined {
  const text = x.query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text) || Number(text) > max) {
    throw badParameter(
      name,
      text,
      `must be a whole number from 0 to ${last}`,
      `Ask for ${name}=${Math.min(last, 100)}, for example.`,
    );
  }
  return Number(text);
}

/** A time, or how long ago. In ms since the epoch. */
function readSince(text: string | null, now: number): number | undefined {
  if (text === null || text === '') return undefined;
  const ago = readDuration(text);
  const since = ago === undefined ? parseTime(text) : now - ago;
  if (since === undefined) {
    const rule = 'must be a duration such as 15m, or an RFC 3339 time';
    throw badParameter('since', text, rule, 'Ask for since=15m, for example.');
  }
  return since;
}

/** `sinceSeconds`, Kubernetes' name for how long ago; in ms since the epoch. */
function readSinceSeconds(x: Exchange, now: number): number | undefined {
  const seconds = readCount(x, 'sinceSeconds', 1e10);
  return seconds === undefined ? undefined : now - seconds * 1_000;
}

/** Of several names for one thing at most one may be given. */
function atMostOne(x: Exchange, names: readonly string[]): void {
  const given = names.filter((name) => x.query.has(name));
  if (given.length > 1) throw refuse('BadRequest', `at most one of ${names.join(', ')} may be specified`);
}

/** Undefined: none is asked for. */
export function readIndex(x: Exchange, indexes: number): number | undefined {
  const index = readCount(x, 'index', Number.MAX_SAFE_INTEGER, indexes - 1);
  if (index !== undefined && index >= indexes) {
    throw refuse('NotFound', `index ${index} does not exist; the Job has indexes 0 to ${indexes - 1}`, {
      fix: indexes === 1 ? 'Use ?index=0, or leave it out.' : `Use ?index=<0 to ${indexes - 1}>.`,
    });
  }
  return index;
}

export function readLogRequest(x: Exchange, indexes: number, now: number): LogRequest {
  const index = readIndex(x, indexes);
  if (index === undefined && indexes > 1) {
    throw refuse('OutputIndexRequired', `the Job has ${indexes} indexes; select one with index=<n>`, {
      fix: `Add ?index=<0 to ${indexes - 1}>.`,
    });
  }
  const container = x.query.get('container') ?? '';
  atMostOne(x, ['tail', 'tailLines']);
  atMostOne(x, ['since', 'sinceSeconds', 'sinceTime']);
  if (!['', 'All'].includes(x.query.get('stream') ?? '')) {
    throw refuse('BadRequest', 'stream must be All: output and errors are one log');
  }
  if (container.length > LONGEST_CONTAINER)
    throw refuse('BadRequest', 'container must be the name of a container, for example main');
  return {
    index: index ?? 0,
    epoch: readCount(x, 'epoch', Number.MAX_SAFE_INTEGER),
    container: container === '' ? 'main' : container,
    follow: readFlag(x.query, 'follow') ?? false,
    ...(readFlag(x.query, 'previous') === true ? { previous: true } : {}),
    tail: readCount(x, 'tail', MOST_LINES) ?? readCount(x, 'tailLines', MOST_LINES),
    since: readSince(x.query.get('since') ?? x.query.get('sinceTime'), now) ?? readSinceSeconds(x, now),
  };
}
