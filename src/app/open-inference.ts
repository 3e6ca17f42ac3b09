/**
 * Opens the inference data plane of the leader: the upstreams, what requests name, their limits and the blocks that they draw on, and what
 * InferenceEndpoints and Models show of all that.
 */
import { join } from 'node:path';
import { releaseDeadBlocks } from '../../actors/inference/blocks/dead-blocks.js';
import type { Blocks } from '../../actors/inference/blocks.js';
import { openBlocks } from '../../actors/inference/blocks/open.js';
import { openDirectory } from '../../actors/inference/directory.js';
import { fundingMessage, isOfMoney } from '../../actors/inference/funding.js';
import { openLimits } from '../../actors/inference/limits.js';
import { openInferenceService, type InferenceService } from '../../actors/inference/service.js';
import { openSpool } from '../../actors/inference/spool.js';
import { openStanding } from '../../actors/inference/standing.js';
import { openUsage, type UseRow } from '../../actors/inference/usage.js';
import type { Actors } from '../../actors/open.js';
import { openReadTurns } from '../../actors/read-turns.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import { readBlocks } from '../../storage/inference/blocks.js';
import { readEndpoints } from '../../storage/inference/endpoints.js';
import { readUse } from '../../storage/inference/use.js';
import type { Postgres } from '../../storage/postgres.js';
import { openWindowRows } from '../../storage/inference/windows.js';
import type { Address } from '../api/address.js';
import { decodeObject } from '../api/encode.js';
import type { ApiObject } from '../api/object.js';
import { CATALOG_ORG } from '../brand.js';
import { openInferenceRouter } from '../engines/inference/open-router.js';
import { loadTokenizer } from '../engines/inference/tokens/tokenizers.js';
import { withinTime } from '../engines/inference/tokens/within-time.js';
import type { InferenceEndpointSpec } from '../kinds/inferenceendpoint/schema.js';
import { modelKind } from '../kinds/model/index.js';
import type { Prices } from './catalog/prices.js';
import type { Upstreams } from './catalog/upstreams.js';
import type { LeaderDeps } from './leader.js';

/** Kinds that requests name. */
const FOLLOWED = new Set(['Model', 'InferenceEndpoint', 'Namespace']);
/** Reads of what requests name: a part of Postgres's readers, of which an org takes half (ms). */
const READS_AT_ONCE = 4;
const READ_WITHIN_MS = 5_000;
const ENDPOINTS_AT_ONCE = 250;

export interface Inference {
  readonly service: InferenceService;
  /** Each change of an object. */
  committed(change: CommittedChange): void;
  /** Posts what was used, and gives back what is held. */
  close(): Promise<void>;
}

export interface InferenceParts {
  readonly actors: Pick<Actors, 'ledger' | 'router' | 'resources' | 'refusedHolds'>;
  readonly prices: Pick<Prices, 'current'>;
  readonly upstreams: Upstreams;
}

export async function openInference(
  { config, store, lease, log, metrics }: Pick<LeaderDeps, 'config' | 'store' | 'lease' | 'log' | 'metrics'>,
  { actors, prices, upstreams }: InferenceParts,
  stopping: AbortSignal,
): Promise<Inference> {
  const { clock, postgres } = store;
  const { send } = actors.router;
  const onProblem = (message: string): void => metrics.observe.problem('the gateway', message);
  // Before anything is drawn: what the last leader held for its requests is held for nothing.
  await releaseDeadBlocks({ read: () => readBlocks(postgres), ledger: actors.ledger, onProblem });
  const router = await openInferenceRouter(upstreams.file, upstreams.keys, {
    turn: (org) => actors.resources.slice(org),
    loadTokenizer: async (name) => withinTime(await loadTokenizer(name)),
    note(message, weight) {
      const level = weight === 'Grave' ? 'warn' : 'info';
      log[level]({ message }, 'an upstream of models did not answer');
    },
  });
  const readTurn = openReadTurns({ places: READS_AT_ONCE, shared: true, waitMs: READ_WITHIN_MS });
  const directory = await openDirectory({
    read: (address) => readTurn(address.org, () => store.objects.read(address)),
    listModels: () => listModels(actors, stopping),
    onProblem,
  });
  const blocks: Blocks = openBlocks({
    ...{ ledger: actors.ledger, epoch: lease.epoch, stopping, onProblem, now: () => performance.now() },
    onPosted: (org, endpoint, use, cost) => {
      if (endpoint !== undefined) usage.posted(org, endpoint, use, cost);
    },
    onFunding({ owner, org, endpoint }, refusal) {
      if (endpoint !== undefined) void send({ org, ...owner }, endpoint, fundingMessage(refusal));
    },
    onRefused: (org, refusal, times) => actors.refusedHolds(org, refusal, times),
    onGone: () => undefined,
  });
  metrics.followInference(router, blocks);
  const usage = await openUsage({
    ...{ send, clock, onProblem, running: (uid: string) => blocks.running(uid) },
    rows: { readUse: (since, limit) => newestUse(postgres, since, limit) },
  });
  const limits = openLimits({ rows: openWindowRows(postgres), lease, clock, onProblem });
  const standing = openStanding({ standing: router.standing, directory, send, clock, onProblem });
  const know = (address: Address, uid: string, model: string): void => {
    standing.know(address, uid, model);
    usage.know(uid, address);
  };
  for (let after: Address | undefined; ;) {
    const page = await readEndpoints(postgres, after, ENDPOINTS_AT_ONCE);
    for (const { address, uid, model, reason } of page) {
      know(address, uid, model);
      if (!isOfMoney(reason)) continue;
      const view = await directory.endpoint(address.org, address.project, address.name);
      if (view !== undefined) blocks.refusedBefore(view.payer);
    }
    after = page.at(-1)?.address;
    if (page.length < ENDPOINTS_AT_ONCE) break;
  }
  const running = Promise.all([standing.run(stopping), usage.run(stopping)]);

  const spool = openSpool(join(config.dataDir, 'spool'), config.diskReserve);
  const service = openInferenceService({ directory, router, limits, blocks, clock, prices: prices.current, spool });
  return {
    service,
    committed({ address, uid, type, after }) {
      if (!FOLLOWED.has(address.kind)) return;
      const object = type === 'DELETED' ? undefined : decodeObject(after);
      directory.changed(address, object);
      if (address.kind !== 'Model' && object?.metadata.deletionTimestamp !== undefined) service.endRequests(uid);
      if (object === undefined) {
        service.endRequests(uid);
        standing.forget(uid);
      } else if (address.kind === 'InferenceEndpoint') know(address, uid, (object.spec as InferenceEndpointSpec).model);
    },
    async close() {
      await blocks.close();
      await Promise.all([limits.close(), router.close()]);
      await running;
    },
  };
}

async function newestUse(postgres: Postgres, since: number, limit: number): Promise<readonly UseRow[]> {
  let rows: UseRow[] = [];
  for await (const page of readUse(postgres, since)) {
    rows = [...rows, ...page.map((row) => ({ ...row, costUSD: row.costUSD.toFixed() }))].slice(-limit);
  }
  return rows;
}

async function listModels(
  { resources }: Pick<Actors, 'resources'>,
  signal: AbortSignal,
): Promise<readonly ApiObject[]> {
  const page = await resources.list({ range: { org: CATALOG_ORG, kind: modelKind }, signal });
  const models: ApiObject[] = [];
  for await (const bodies of page.items) models.push(...bodies.map((body) => decodeObject(body)));
  return models;
}
