/**
 * What a process opens when it has become the leader, in order: the disk's watch, inputs, webhooks, actors, what the deployment
 * keeps for itself, and what was under way. Whatever fails closes what is open. Closing leaves running work alone.
 */
import { setMaxListeners } from 'node:events';
import { bootstrapKey } from '../../actors/orgs.js';
import { clientEngine } from '../../actors/work/client-engine.js';
import { openLog } from '../../actors/work/logs.js';
import { attemptTokens } from '../../storage/envelope/attempt-tokens.js';
import { countPhases } from '../../storage/phases.js';
import { attemptKind } from '../kinds/attempt/index.js';
import { KINDS } from '../kinds/index.js';
import type { Leader, LeaderDeps } from './leader.js';
import { openLeaderActors } from './leader-actors.js';
import { serveAttempts } from './attempt-api.js';
import { workBehind } from './behind.js';
import { openPrices } from './catalog/prices.js';
import { readCatalog } from './catalog/read-catalog.js';
import { readUpstreams } from './catalog/upstreams.js';
import { keepDeployment } from './deployment.js';
import { watchDisk } from './disk-space.js';
import { differences, showAudits, startAuditor } from './ledger-audit.js';
import { openMail } from './mail.js';
import { openPaymentDeps } from './payments.js';
import { openInference, type Inference } from './open-inference.js';
import { observeNode } from './observe-node.js';
import { openOperators } from './operator-api.js';
import { startPromotions } from './promotions.js';
import { startSweeps } from './sweeps.js';
import { openLeaderWebhooks, openDeliveries } from './webhooks.js';
import { openWorkInputs } from './work-files.js';

/** Whose phases are counted: what runs work, and the work itself. */
const WORKING = KINDS.filter((kind) => kind.workPlan !== undefined || kind === attemptKind).map(({ kind }) => kind);

export async function openLeader(deps: LeaderDeps): Promise<Leader> {
  const { config, store, lease, blobs, engine, metrics, log } = deps;
  const ending = new AbortController();
  const stopping = AbortSignal.any([lease.lost, ending.signal]);
  // Every wait of the leader listens to this one signal, and takes its listener off again.
  setMaxListeners(0, stopping);

  const directories = [config.dataDir, config.blobDir];
  const disk = await watchDisk({ directories, reserve: config.diskReserve, log }, stopping);
  metrics.followDisk(disk);
  const inputs = await openWorkInputs(config.blobDir, engine, blobs, store.objects, stopping);
  // Before the committer: nothing changes between what is read here and the first commit that is followed.
  const webhooks = await openLeaderWebhooks(deps, stopping);
  const opened: { close(): Promise<void> }[] = [webhooks];
  // A half-open leader must not stay behind: its queues would take timers from the next one.
  const close = async (): Promise<void> => {
    ending.abort();
    for (const part of opened.toReversed()) await part.close();
  };

  let attemptApi: Awaited<ReturnType<typeof serveAttempts>> | undefined;
  try {
    const prices = await openPrices(config.priceBook, store.postgres);
    const tokens = attemptTokens(deps.keys);
    const mail = await openMail(config);
    const catalog = await readCatalog(undefined, prices.current(), config.catalogDir);
    const upstreams = await readUpstreams(config.upstreams, catalog, prices.current());
    let inference: Inference | undefined;
    const actors = await openLeaderActors(deps, {
      webhooks,
      disk,
      inputs,
      tokens,
      prices,
      mail,
      payments: openPaymentDeps(deps),
      stopping,
      end: () => ending.abort(),
      committed: (change) => inference?.committed(change),
    });
    opened.push(actors);
    metrics.follow(actors, webhooks);
    metrics.work.follow(actors.resources, () => countPhases(store.postgres, WORKING));
    const orgs = await keepDeployment(deps, actors, { prices, served: upstreams.served }, stopping);
    await actors.start();
    inference = await openInference(deps, { actors, prices, upstreams }, stopping);
    opened.push(inference);
    const directory = engine?.apiDirectory;
    if (directory !== undefined) attemptApi = await serveAttempts(directory, tokens, actors, log);
    webhooks.start(actors.router);
    startSweeps(deps, actors, stopping);
    const promotions = startPromotions(deps, actors, stopping);
    const auditor = startAuditor(deps, stopping);
    metrics.followAuditor(auditor);
    const node = engine && observeNode(engine, actors, disk, metrics, stopping);

    const logs = {
      resources: actors.resources,
      attemptKind,
      engine: engine && clientEngine(engine),
      logsSince: deps.logsSince,
      slot: store.objects.slot,
    };
    return {
      resources: actors.resources,
      inference: inference.service,
      commands: actors.commands,
      files: actors.files,
      logs: { open: (owner, uid, request, signal, pace) => openLog(owner, uid, request, logs, signal, pace) },
      deliveries: openDeliveries(store, actors, webhooks),
      payments: actors.payments,
      operators: openOperators(actors, orgs, store.objects, showAudits(auditor)),
      promotions,
      holdsLease: () => lease.held(),
      behind: () => [...workBehind(actors, webhooks), ...differences(auditor)],
      engineFacts: () => node?.facts(),
      onCredentialUse(address, uid) {
        void actors.router.send(address, uid, { type: 'Used', time: store.clock() });
      },
      onToolLink: (uid, epoch) => actors.tools.look(uid, epoch),
      onStorageFull: actors.payments.storageFull,
      newOwnerKey: () => bootstrapKey(orgs),
      async close() {
        await attemptApi?.close();
        await webhooks.drain();
        await close();
      },
    };
  } catch (error) {
    await attemptApi?.close();
    await close();
    throw error;
  }
}
