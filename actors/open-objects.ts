/**
 * Opens the actors of all objects, with everything that a write or a read of one object needs: admission, the committer, the watch
 * hub, the registry, the message router.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { addressKey, type Address } from '../src/api/address.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { DecisionContext } from '../src/kinds/machine.js';
import { openAdmission } from './admission/admission.js';
import { openPause } from './admission/pause.js';
import type { ActorsDeps } from './deps.js';
import { openHub } from './hub/hub.js';
import { openMessageRouter } from './message-router.js';
import { openPaymentsReady } from './payments/availability.js';
import { openRefusedHolds } from './money/refused-holds.js';
import { openNextChange } from './next-change.js';
import { openReads } from './open-reads.js';
import { openOrgTurns } from './org-turns.js';
import { searchObjects } from './reads.js';
import { openRegistry } from './registry.js';
import { openBacklog } from './admission/backlog.js';
import { openKindCaps } from './admission/kind-caps.js';
import { ATTEMPT } from './work/attempts.js';
import { openAfterCommit } from './resource/after-commit.js';
import type { WriteReply, WriteRequest } from './resource-service.js';
import { submit, type SubmitDeps } from './submit.js';
import { openRunHistory } from './run-history.js';
import { openSupervision } from './supervision.js';
import { openActorTree } from './system.js';

const RING_CHANGES = 100_000;

export type ObjectsPart = Awaited<ReturnType<typeof openObjects>>;

export async function openObjects(deps: ActorsDeps) {
  const { kinds, clock, stopping } = deps;
  const kindOf = (name: string): KindDefinition | undefined => kinds.find(({ kind }) => kind === name);
  const reads = openReads(deps);
  const { cache, objects, responses, lists, read } = reads;
  const admission = openAdmission({
    ...{ kindOf, read, secrets: deps.secrets, neverDialled: deps.neverDialled ?? (() => undefined) },
    orgMachinePercent: deps.settings.orgMachinePercent,
    paymentsReady: openPaymentsReady(
      deps.payments.processor,
      clock,
      (message) => deps.observe.problem('the payments', message),
      stopping,
    ),
    search: (org, kind, project) => searchObjects({ org, kind, project }, stopping, lists),
  });
  const pause = await openPause(deps.admissions, deps.shortage);
  const supervision = openSupervision();
  const hub = openHub({
    // A watch that catches up reads as a list does.
    log: { after: (org, ...rest) => lists.turn(org, () => deps.log.after(org, ...rest)), head: () => deps.log.head() },
    slices: lists.slices,
    start: await deps.log.head(),
    ring: { maxBytes: deps.settings.ringBytes, maxChanges: RING_CHANGES },
    now: () => performance.now(),
  });
  const nextChange = openNextChange();
  const runHistory =
    deps.runHistory &&
    (await openRunHistory({
      ...{ rows: deps.runHistory, kindOf, cached: cache.get },
      onProblem: (message) => deps.observe.problem('the ledger', `runs are not remembered: ${message}`),
    }));
  const committer = await deps.openCommitter((committed) => {
    for (const change of committed) {
      cache.committed(change);
      nextChange.committed(change);
      admission.committed(change);
      runHistory?.committed(change);
      deps.onChange(change);
      if (change.type === 'DELETED') supervision.forgive(addressKey(change.address));
    }
    hub.publish(committed);
  });
  const refusedHolds = openRefusedHolds();
  // I9: the one place where a machine's clock, ids and randomness come from.
  const { endpoints } = deps;
  const images = deps.engine?.images;
  const activeSince = clock();
  const decisionContext = (): DecisionContext => ({
    ...{ now: clock(), activeSince, uid: randomUUID, randomBytes, endpoints, images },
    prices: deps.prices?.(),
    mails: deps.mail !== undefined,
    orgMachinePercent: deps.settings.orgMachinePercent,
    runHistory: runHistory?.of,
  });
  let generation = 0;
  const afterCommit = openAfterCommit();
  const backlog = openBacklog(deps.settings.attemptsPerOrg, afterCommit.attemptsAsked);
  backlog.load(await deps.pending.countUnfinished(ATTEMPT));
  const tree = openActorTree((message) => deps.observe.problem('the actors', message));
  const registry = openRegistry(tree, kindOf, {
    ...{
      cache,
      objects,
      committer: refusedHolds.follow(committer),
      responses,
      secrets: deps.secrets,
      rehearse: deps.rehearse,
      fullOrg: deps.fullOrg,
      decisionContext,
      afterCommit,
      backlog,
      supervision,
      stopping,
    },
    nextGeneration: () => (generation = Math.max(generation + 1, Math.floor(clock()))),
    ...{
      admit: admission.check,
      admitOwners: admission.owners,
      referenceWarnings: admission.referenceWarnings,
      rule: admission.rule,
    },
    ...{ onFenced: deps.onFenced, onCrash: deps.observe.crash },
    ...{ mailboxLimit: deps.settings.mailboxLimit, now: clock, chance: Math.random },
  });
  const submitting: SubmitDeps = {
    ...{ kindOf, decisionContext, admission, clock, responses, turns: openOrgTurns() },
    ...{ deliver: registry.deliver, paused: pause.current, priceTags: deps.priceTags, backlog },
    kindCaps: openKindCaps(
      deps.settings.mostOfKind,
      async (org, kind) => (await objects.keys({ org, kind, limit: 1 })).count,
    ),
  };
  return {
    /** `afterCommit` takes what commits ask for, and is to be connected at once. */
    ...{
      ...reads,
      admission,
      pause,
      hub,
      nextChange,
      committer,
      supervision,
      tree,
      registry,
      afterCommit,
      refusedHolds,
      runHistory,
    },
    router: openMessageRouter(registry.deliver, kindOf, clock),
    write: (address: Address, request: WriteRequest): Promise<WriteReply> => submit(address, request, submitting),
  };
}
