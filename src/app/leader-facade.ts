/**
 * Owns what the front door sees of the rooms behind it, which come and go with the lease: the same interfaces all the
 * time, served by the active process's parts, and `Unavailable` while there are none (standby, take-over, drain).
 */
import { notActive } from '../../http/not-active.js';
import { createOrg, recoverOrg } from '../../actors/orgs.js';
import type { ResourceService } from '../../actors/resource-service.js';
import type { Commands } from '../../actors/work/commands.js';
import type { Files } from '../../actors/work/files/open.js';
import type { Authenticator } from '../../http/auth/authenticator.js';
import type { SshServer } from '../../http/ssh/server.js';
import type { Address } from '../api/address.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import type { Deliveries, Events, Health, Logs, Operators, Outputs } from '../../http/deps.js';
import { kindByName } from '../kinds/index.js';
import { jobOutputs, locateOutput } from '../kinds/job/slots.js';
import type { Blobs } from '../../storage/blobs/blobs.js';
import { listEvents } from '../../storage/events.js';
import type { Store } from '../../storage/open.js';
import { openDeliveryLog } from '../../storage/webhooks/log.js';
import type { Active } from './active.js';

export interface LeaderFacade {
  /** What the process waits for while it is not active: shown by /readyz. */
  set(state: LeaderState): void;
  active(): Active;
  readonly resources: ResourceService;
  readonly health: Health;
  readonly commands: Commands;
  readonly files: Files;
  readonly logs: Logs;
  readonly outputs: Outputs;
  readonly deliveries: Deliveries;
  readonly blobs: Blobs;
  readonly events: Events;
  readonly operators: Operators;
  /** A credential was used: its object notes the time. */
  onCredentialUse(address: Address, uid: string): void;
  /** A tool of a Workspace was asked for. */
  onToolLink(uid: string, epoch: number): void;
  /** Tells the authenticator what it may no longer believe, and the SSH door whose guests it must look at again. */
  onChange(
    authenticator: Pick<Authenticator, 'forget'>,
    door: Pick<SshServer, 'changed'> | undefined,
  ): (change: CommittedChange) => void;
}

export type LeaderState =
  | { readonly state: 'Waiting'; readonly missing: string }
  | { readonly state: 'Active'; readonly active: Active };

/** Kinds from which it is read who a caller is. */
const CREDENTIAL_KINDS = new Set(['APIKey', 'Member', 'ServiceAccount']);
/** Kinds from which it is read who may come in by SSH. */
const GUEST_KINDS = new Set(['Member', 'Workspace']);
/** Work that waits longer than this is behind: /readyz says so (I13). */
const BEHIND_MS = 30_000;

export function openLeaderFacade(store: Store, blobs: Blobs): LeaderFacade {
  let now: LeaderState = { state: 'Waiting', missing: 'starting' };
  const active = (): Active => {
    if (now.state === 'Active') return now.active;
    throw notActive([now.missing]);
  };
  const stage = (): ResourceService => active().actors.resources;
  const commands = (): Commands => active().actors.commands;
  const files = (): Files => active().actors.files;
  const deliveryLog = openDeliveryLog(store.postgres);

  return {
    set(state) {
      now = state;
    },
    active,
    resources: {
      write: (address, request, signal) => stage().write(address, request, signal),
      read: (address, signal) => stage().read(address, signal),
      peek: (address) => stage().peek(address),
      list: (request) => stage().list(request),
      slice: (org) => stage().slice(org),
      version: () => stage().version(),
      settled: (org) => stage().settled(org),
      floor: () => stage().floor(),
      watch: (range, from, watcher, signal) => stage().watch(range, from, watcher, signal),
    },
    health: {
      active: () => now.state === 'Active' && now.active.holdsLease(),
      behind: () => (now.state === 'Active' ? behind(now.active) : []),
      missing: () => (now.state === 'Active' ? [] : [now.missing]),
      facts: () => ({
        cluster: store.clusterId,
        compute: now.state === 'Active' ? now.active.engineFacts() : undefined,
      }),
    },
    commands: {
      start: (owner, command, signal) => commands().start(owner, command, signal),
      startProcess: (owner, process, signal) => commands().startProcess(owner, process, signal),
      processes: (owner, epoch, signal) => commands().processes(owner, epoch, signal),
      writeProcess: (owner, process, input, signal) => commands().writeProcess(owner, process, input, signal),
      signalProcess: (owner, process, name, signal) => commands().signalProcess(owner, process, name, signal),
      readProcess: (owner, process, follow, signal) => commands().readProcess(owner, process, follow, signal),
      connect: (owner, port, signal) => commands().connect(owner, port, signal),
      stay: async (owner, epoch) => commands().stay(owner, epoch),
    },
    files: {
      read: (place, use, signal) => files().read(place, use, signal),
      list: (place, signal) => files().list(place, signal),
      write: (place, order, body, signal) => files().write(place, order, body, signal),
      remove: (place, signal) => files().remove(place, signal),
      pack: (place, use, signal) => files().pack(place, use, signal),
      unpack: (place, body, signal) => files().unpack(place, body, signal),
    },
    logs: { open: (owner, uid, request, signal) => active().openLog(owner, uid, request, signal) },
    outputs: {
      async *list(owner, uid) {
        yield jobOutputs(await store.objects.slots(owner.org, uid));
      },
      async find(owner, uid, name, index) {
        const slot = await store.objects.slot(owner.org, uid, index);
        const found = locateOutput(slot ? [slot] : [], name, index);
        return found.outcome === 'Found' ? found.output : undefined;
      },
    },
    deliveries: {
      list: deliveryLog.list,
      replay: (org, endpoint, id, keyed) => active().replay({ org, endpoint, id }, keyed),
    },
    blobs,
    events: { list: (org, query) => listEvents(store.postgres, org, query) },
    operators: operators(store, active),
    onCredentialUse(address, uid) {
      if (now.state !== 'Active') return;
      const from = { address, uid, version: 0 };
      const letter = { letter: 'Used', time: store.clock() } as const;
      void now.active.actors.router.deliver(address, uid, { type: 'MessageReceived', from, letter });
    },
    onToolLink(uid, epoch) {
      if (now.state === 'Active') now.active.actors.tools.look(uid, epoch);
    },
    onChange:
      (authenticator, door) =>
      ({ address }) => {
        if (CREDENTIAL_KINDS.has(address.kind)) authenticator.forget(address);
        if (GUEST_KINDS.has(address.kind)) door?.changed(address);
      },
  };
}

/** I13: what counts is the age of what waits. */
function behind({ actors, webhooks }: Pick<Active, 'actors' | 'webhooks'>): readonly string[] {
  const { oldestMessageMs, oldestEffectMs, oldestCommitMs } = actors.health();
  const waits: readonly (readonly [number, (seconds: number) => string])[] = [
    [oldestCommitMs, (seconds) => `a commit has been waiting for ${seconds} s`],
    [oldestMessageMs, (seconds) => `a message has been waiting for ${seconds} s`],
    [oldestEffectMs, (seconds) => `an effect was last tried ${seconds} s ago`],
    [webhooks.state().idleMs, (seconds) => `events have not been delivered for ${seconds} s`],
  ];
  return waits.flatMap(([ms, say]) => (ms > BEHIND_MS ? say(Math.round(ms / 1_000)) : []));
}

const UID = /^[0-9a-f-]{36}$/;

function operators(store: Store, active: () => Active): Operators {
  const addressOf = async (uid: string) => (UID.test(uid) ? store.objects.addressOf(uid) : undefined);
  return {
    async supervisors(kind) {
      const all = active().actors.operators.supervisors();
      return kind === undefined ? all : all.find((view) => view.kind === kind);
    },
    async parked(kind, limit, after) {
      return kindByName(kind) && active().actors.operators.parked(kind, limit, after);
    },
    async restartSupervisor(kind) {
      if (!kindByName(kind)) return false;
      await active().actors.operators.restartKind(kind);
      return true;
    },
    async actor(uid) {
      const address = await addressOf(uid);
      return address && active().actors.operators.actor(address);
    },
    async restartActor(uid) {
      const address = await addressOf(uid);
      if (!address) return false;
      await active().actors.operators.restartActor(address);
      return true;
    },
    admissions: async (paused) => ({ paused: await active().actors.admissions(paused) }),
    async orgs() {
      const rows = await active().orgs.rows.list();
      return rows.map(({ org, name, created }) => ({ org, name, creationTimestamp: new Date(created).toISOString() }));
    },
    createOrg: (name, keyed) => createOrg(name, active().orgs, keyed),
    recoverOrg: (name, keyed) => recoverOrg(name, active().orgs, keyed),
  };
}
