/**
 * Owns what a process opens when it has become the active one, in order: committer, timers, actors, what was under way,
 * and what the deployment itself keeps (orgs, this machine's Node, the catalogs). Closing leaves running work alone.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { openActors, type Actors } from '../../actors/open.js';
import { bootstrapKey, ensureBootstrapOrg, keep, type OrgDeps } from '../../actors/orgs.js';
import { ATTEMPT } from '../../actors/work/attempts.js';
import { openInputs } from '../../actors/work/inputs.js';
import { openLog, type LogRequest } from '../../actors/work/logs.js';
import type { Webhooks } from '../../actors/delivery/open.js';
import { replayDelivery, type ReplayDeps } from '../../actors/delivery/replays.js';
import { BOOTSTRAP_ORG } from '../api/access/role.js';
import type { Address } from '../api/address.js';
import type { Config } from '../config.js';
import type { ComputeEngine, EngineFacts, LogLine } from '../engines/compute/contract/engine.js';
import { openDialer } from '../engines/dialer/dialer.js';
import { neverDialled } from '../engines/dialer/never-dialled.js';
import { allowAddresses } from '../engines/dialer/special-addresses.js';
import { fetchUrl } from '../engines/fetch/fetch.js';
import { kindByName, KINDS } from '../kinds/index.js';
import { locateOutput } from '../kinds/job/slots.js';
import type { PublicEndpoints } from '../kinds/machine.js';
import { LOCAL_NODE } from '../kinds/node/local.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import { countPhases } from '../../storage/phases.js';
import { openAdmissionSwitch } from '../../storage/admissions.js';
import type { Blobs } from '../../storage/blobs/blobs.js';
import type { Store } from '../../storage/open.js';
import { attemptTokens, type AttemptTokens } from '../../storage/envelope/attempt-tokens.js';
import type { MasterKeys } from '../../storage/envelope/master-key.js';
import { keepHouse, storedSweeps, type Sweep } from '../../storage/housekeeping.js';
import { openOrgs } from '../../storage/orgs.js';
import { openTimers } from '../../storage/queues/timers.js';
import { openDeliveryLog } from '../../storage/webhooks/log.js';
import { rewrapSecrets } from '../../storage/rewrap.js';
import type { Lease, SecretVersions } from '../../storage/store.js';
import { attemptAccess, serveAttempts } from './attempt-api.js';
import { keepCatalog, type Kept } from './catalog/keep.js';
import { readCatalog } from './catalog/read.js';
import { listedEntries } from './catalog/usable.js';
import { openReload, tellFaults } from './catalog/reload.js';
import { watchDisk, type DiskWatch } from './disk-space.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';
import { onHangup } from './signals.js';
import { openActiveWebhooks } from './webhooks.js';

export interface ActiveDeps {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly store: Store;
  readonly lease: Lease;
  readonly secrets: SecretVersions;
  readonly keys: MasterKeys;
  readonly blobs: Blobs;
  readonly engine: ComputeEngine | undefined;
  /** Logs of work that was made before this time (ms) may lie elsewhere (`claimDeployment`). */
  readonly logsSince: number;
  readonly metrics: Metrics;
  readonly endpoints: PublicEndpoints;
  /** `readWebhookCa`'s. */
  readonly webhookCa: readonly string[] | undefined;
  readonly log: Log;
  onChange(change: CommittedChange): void;
}

export interface Active {
  readonly actors: Actors;
  readonly webhooks: Pick<Webhooks, 'state'>;
  /** Sends a delivery again; undefined: there is no such one. */
  replay(
    delivery: Parameters<typeof replayDelivery>[0],
    keyed: Parameters<typeof replayDelivery>[1],
  ): ReturnType<typeof replayDelivery>;
  /** The lease certainly holds at this moment. */
  holdsLease(): boolean;
  readonly orgs: OrgDeps;
  openLog(
    owner: Address,
    uid: string,
    request: LogRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterable<LogLine> | undefined>;
  /** What the engine said last; undefined before its first answer or without compute. */
  engineFacts(): EngineFacts | undefined;
  /** One more Owner key of the bootstrap org. */
  newOwnerKey(): Promise<string>;
  close(): Promise<void>;
}

/** Largest file that an input URL or an output may be. */
const TRANSFER_BYTES = 100 * 2 ** 30;
/** Watch history kept in memory; older changes are read from Postgres. */
const RING_BYTES = 32 * 2 ** 20;
const OBSERVE_NODE_MS = 60_000;
const CLEAR_AWAY_MS = 60_000;
const SWEEP_BLOBS_MS = 3_600_000;
const EVENTS_KEPT_MS = 30 * 24 * 3_600_000;

export async function openActive(deps: ActiveDeps): Promise<Active> {
  const { config, store, lease, blobs, engine, metrics } = deps;
  const ending = new AbortController();
  const stopping = AbortSignal.any([lease.lost, ending.signal]);
  // Every wait of the room listens to this one signal, and takes its listener off again.
  setMaxListeners(0, stopping);

  const output = async (job: Address, name: string, index: number) => {
    const owner = await store.objects.read(job);
    const slot = owner && (await store.objects.slot(job.org, owner.uid, index));
    const found = locateOutput(slot ? [slot] : [], name, index);
    return found.outcome === 'Found' ? found.output : undefined;
  };
  const dialer = openDialer();
  const inputs = openInputs({
    dir: join(config.blobDir, 'staged'),
    link: (org, digest, path, project) => blobs.linkTo(org, digest, path, project),
    fetch: (url, to, sha256, signal) => fetchUrl(url, { dialer, to, sha256, limit: TRANSFER_BYTES, signal }),
    output,
  });
  await inputs.clear();
  const disk = await watchDisk(
    { directories: [config.dataDir, config.blobDir], reserve: config.diskReserve, log: deps.log },
    stopping,
  );
  metrics.followDisk(disk);
  // Before the committer: nothing changes between what is read here and the first commit that is followed.
  const webhooks = await openActiveWebhooks(deps, stopping);

  const tokens = attemptTokens(deps.keys);
  const webhookAllow = allowAddresses(config.webhookAllow ?? []);
  const actors = await openActors({
    kinds: KINDS,
    clock: store.clock,
    objects: store.objects,
    log: store.changes,
    pending: store.pending,
    responses: store.responses,
    secrets: deps.secrets,
    openCommitter: async (publish) =>
      webhooks.follow(
        await store.openCommitter({
          lease,
          publish,
          onFenced(why) {
            metrics.observe.problem(`nothing more is written: ${why}`);
            // This term ends, and the next one begins with what the database holds.
            void lease.release();
          },
          objectsPerOrg: config.quotaObjects,
        }),
      ),
    openTimers: (fire) =>
      openTimers({
        store: store.pending,
        clock: store.clock,
        backend: config.redisUrl
          ? { backend: 'redis', url: config.redisUrl }
          : { backend: 'postgres', url: deps.databaseUrl },
        name: `timers-${store.clusterId.slice(0, 8)}`,
        fire,
        onError: (error) => metrics.observe.problem(`timers: ${error.message}`),
        signal: stopping,
      }),
    engine,
    endpoints: deps.endpoints,
    inputs,
    access: engine?.apiDirectory === undefined ? undefined : attemptAccess(engine.apiDirectory, tokens),
    async keepOutput(address, file) {
      const { name, size, directory } = file;
      if (file.error !== undefined) return { name, size, directory, sha256: '', error: file.error };
      const kept = await blobs.addFile(address.org, file.file, {
        project: address.project,
        limit: TRANSFER_BYTES,
        signal: stopping,
      });
      // The commit that names it keeps it. A day is left for that: by then the report has been handled or is handled again.
      return { name, size: kept.size, directory, sha256: kept.digest };
    },
    admissions: openAdmissionSwitch(store.postgres),
    shortage: disk.shortage,
    neverDialled: (url) => neverDialled(url, webhookAllow),
    forgetBlobs: blobs.forgetProject,
    abandonDeliveries: webhooks.abandon,
    settings: {
      cacheBytes: config.cacheBytes,
      ringBytes: RING_BYTES,
      mailboxLimit: config.mailboxMessages,
      passivateAfterMs: config.passivationSeconds * 1_000,
    },
    stopping,
    onFenced: () => ending.abort(),
    onChange(change) {
      webhooks.committed(change);
      metrics.work.committed(change);
      deps.onChange(change);
    },
    observe: metrics.observe,
  }).catch(async (error: unknown) => {
    ending.abort();
    await webhooks.close();
    throw error;
  });
  try {
    return await startServices(deps, actors, webhooks, tokens, disk, stopping, ending);
  } catch (error) {
    // Half an active process must not stay behind: its queue would take timers from the next one.
    ending.abort();
    await actors.close();
    await webhooks.close();
    throw error;
  }
}

/** What the deployment itself keeps, and what was under way. */
async function startServices(
  deps: ActiveDeps,
  actors: Actors,
  webhooks: Webhooks,
  tokens: AttemptTokens,
  disk: DiskWatch,
  stopping: AbortSignal,
  ending: AbortController,
): Promise<Active> {
  const { store, engine, metrics } = deps;
  metrics.follow(actors, webhooks);
  metrics.work.follow(actors.resources, () => countPhases(store.postgres));
  const orgs: OrgDeps = {
    ...{ rows: openOrgs(store.postgres), making: new Set(), write: actors.write, randomBytes },
    // Operators have their keys in the bootstrap org.
    answers: {
      find: (holder, key) => store.responses.find(BOOTSTRAP_ORG, holder, key),
      keep: (answer) => actors.keepAnswer(BOOTSTRAP_ORG, answer, 0),
    },
  };
  await ensureBootstrapOrg(orgs);
  const capacity = await engine?.facts(stopping);
  const readAgain = async (): Promise<Kept> => {
    const own = capacity?.refusal === undefined ? capacity : undefined;
    const { catalogDir, catalogUnusable } = deps.config;
    const objects = listedEntries(await readCatalog(own, catalogDir), catalogUnusable);
    return keepCatalog(objects, actors, stopping);
  };
  await keep([{ address: LOCAL_NODE, spec: {} }], orgs);
  // Files that were broken since the start do not keep a standby from taking over: what is stored stays.
  await readAgain().catch((error: unknown) => {
    if (!tellFaults(error, deps.log)) throw error;
  });
  onHangup(openReload(readAgain, deps.log), stopping);
  await actors.start();
  const directory = engine?.apiDirectory;
  const attemptApi = directory === undefined ? undefined : await serveAttempts(directory, tokens, actors, deps.log);
  webhooks.start(actors.router);
  clearAway(deps, actors, stopping);
  let facts: EngineFacts | undefined;
  const observing = engine && observeNode(engine, actors, disk, stopping, metrics, (seen) => (facts = seen));

  const attemptKind = kindByName(ATTEMPT);
  if (!attemptKind) throw new Error('the registry has no Attempt');
  const replays: ReplayDeps = {
    log: openDeliveryLog(store.postgres),
    answers: {
      find: (org, holder, key) => store.responses.find(org, holder, key),
      keep: (org, answer) => actors.keepAnswer(org, answer, 0),
    },
    look: (endpoint) => webhooks.look(endpoint),
    now: store.clock,
    uid: randomUUID,
  };
  return {
    actors,
    webhooks,
    replay: (delivery, keyed) => replayDelivery(delivery, keyed, replays),
    holdsLease: () => deps.lease.held(),
    orgs,
    openLog: (owner, uid, request, signal) =>
      openLog(
        owner,
        uid,
        request,
        { resources: actors.resources, attemptKind, engine, logsSince: deps.logsSince, slot: store.objects.slot },
        signal,
      ),
    engineFacts: () => facts,
    newOwnerKey: () => bootstrapKey(orgs),
    async close() {
      await attemptApi?.close();
      await webhooks.drain();
      ending.abort();
      clearInterval(observing);
      await actors.close();
      await webhooks.close();
    },
  };
}

/** Rows and blobs that are past their time go, as long as this term lasts; what an earlier master key wrapped is wrapped anew. */
function clearAway({ config, store, keys, blobs, metrics }: ActiveDeps, actors: Actors, stopping: AbortSignal): void {
  const problem = (what: string, error: unknown): void => {
    if (!stopping.aborted) metrics.observe.problem(`${what}: ${error instanceof Error ? error.message : 'failed'}`);
  };
  const { postgres, changes, responses } = store;
  // At least twice within the history that is kept, so that it never grows to more than one and a half times of it.
  const every = Math.min(CLEAR_AWAY_MS, (config.watchHistorySeconds * 1_000) / 2);
  const sweeps: readonly Sweep[] = [
    ...storedSweeps({
      ...{ postgres, changes, responses, every, eventsKept: EVENTS_KEPT_MS, now: store.clock },
      onFloor: (floor) => actors.moveFloor(floor),
    }),
    {
      ...{ name: 'blobs', every: SWEEP_BLOBS_MS },
      run: (signal) => blobs.sweep(signal),
      overdue: () => blobs.overdueMs(),
    },
  ];
  void keepHouse(sweeps, { onOverdue: metrics.observe.overdue, onProblem: problem }, stopping);
  void rewrapSecrets(postgres, keys, stopping).then(({ unreadable }) => {
    if (unreadable > 0) metrics.observe.problem(`${unreadable} secret versions do not open with any master key here`);
  });
}

/** Tells the Node what its machine has, now, every minute, and when its disk gets short or has room again. */
function observeNode(
  engine: ComputeEngine,
  actors: Actors,
  disk: DiskWatch,
  stopping: AbortSignal,
  metrics: Metrics,
  onFacts: (facts: EngineFacts) => void,
): NodeJS.Timeout {
  const tell = async (): Promise<void> => {
    const facts = await engine.facts(stopping);
    onFacts(facts);
    const { milliCpu, memory, isolation, refusal } = facts;
    const capacity = { milliCpu, memory, disk: facts.disk };
    const from = { address: LOCAL_NODE, uid: '', version: 0 };
    const shortage = disk.shortage();
    const letter = { letter: 'NodeObserved', engine: facts.name, isolation, capacity, refusal, shortage } as const;
    await actors.router.deliver(LOCAL_NODE, undefined, { type: 'MessageReceived', from, letter });
  };
  const observe = (): void =>
    void tell().catch((error: unknown) => {
      if (!stopping.aborted) metrics.observe.problem(`engine: ${error instanceof Error ? error.message : 'no answer'}`);
    });
  observe();
  disk.follow(observe);
  return setInterval(observe, OBSERVE_NODE_MS);
}
