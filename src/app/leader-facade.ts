/**
 * What HTTP and SSH are given for as long as the process lives. The parts behind it are open only while this process is the
 * leader: then each interface is served by them. At any other time (standby, take-over, drain) it throws `Unavailable`.
 */
import { notActive } from '../../http/not-active.js';
import type { Authenticator } from '../../http/auth/authenticator.js';
import type { HttpDeps } from '../../http/deps.js';
import type { SshServer } from '../../http/ssh/server.js';
import type { Blobs } from '../../storage/blobs/blobs.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import { listEvents } from '../../storage/events.js';
import { openLedgerMonths } from '../../storage/ledger/months.js';
import { openLedgerReads } from '../../storage/ledger/reads.js';
import { openLedgerSpend } from '../../storage/ledger/spend.js';
import type { Store } from '../../storage/open.js';
import type { Leader, LeaderParts } from './leader.js';
import { openOutputs } from './job-outputs.js';

export interface LeaderFacade
  extends LeaderParts, Pick<HttpDeps, 'health' | 'outputs' | 'slots' | 'blobs' | 'events' | 'ledger'> {
  set(state: LeaderState): void;
  /** As in `Leader`; without effect while this process is not the leader. */
  readonly onCredentialUse: Leader['onCredentialUse'];
  readonly onToolLink: Leader['onToolLink'];
  readonly onStorageFull: Leader['onStorageFull'];
  /** Tells the authenticator which credentials to read again, and the SSH server whose connections to check again. */
  onChange(
    authenticator: Pick<Authenticator, 'forget'>,
    ssh: Pick<SshServer, 'changed'>,
  ): (change: CommittedChange) => void;
}

export type LeaderState =
  /** `missing`: what the process waits for, as `/readyz` shows it. */
  { readonly state: 'Waiting'; readonly missing: string } | { readonly state: 'Leading'; readonly leader: Leader };

const LEASE_OVER = 'the time of the lease is over, and Postgres has not said yet who has it';

/** Kinds that say who a caller is. */
const CREDENTIAL_KINDS = new Set(['APIKey', 'Member', 'ServiceAccount']);
/** Kinds that say who may log in by SSH. */
const SSH_KINDS = new Set(['Member', 'Workspace']);

export function openLeaderFacade(store: Store, blobs: Blobs): LeaderFacade {
  let now: LeaderState = { state: 'Waiting', missing: 'starting' };
  const leader = (): Leader => {
    if (now.state === 'Leading') return now.leader;
    throw notActive([now.missing]);
  };
  return {
    set(state) {
      now = state;
    },
    resources: whileLeader(() => leader().resources),
    inference: whileLeader(() => leader().inference),
    commands: whileLeader(() => leader().commands),
    files: whileLeader(() => leader().files),
    logs: whileLeader(() => leader().logs),
    deliveries: whileLeader(() => leader().deliveries),
    operators: whileLeader(() => leader().operators),
    payments: whileLeader(() => leader().payments),
    promotions: whileLeader(() => leader().promotions),
    health: {
      active: () => now.state === 'Leading' && now.leader.holdsLease(),
      behind: () => (now.state === 'Leading' ? now.leader.behind() : []),
      missing: () => {
        if (now.state === 'Waiting') return [now.missing];
        // Its time may be over before it is lost: another process may be the leader already.
        return now.leader.holdsLease() ? [] : [LEASE_OVER];
      },
      facts: () => ({
        cluster: store.clusterId,
        compute: now.state === 'Leading' ? now.leader.engineFacts() : undefined,
      }),
    },
    outputs: openOutputs(store.objects),
    slots: { from: (org, uid, first, limit) => store.objects.slotsFrom(org, uid, first, limit) },
    blobs,
    ledger: {
      ...openLedgerReads(store.postgres),
      months: openLedgerMonths(store.postgres),
      spend: openLedgerSpend(store.postgres),
    },
    events: { list: (org, query) => listEvents(store.postgres, org, query) },
    onCredentialUse(address, uid) {
      if (now.state === 'Leading') now.leader.onCredentialUse(address, uid);
    },
    onStorageFull(org, quotaBytes) {
      if (now.state === 'Leading') now.leader.onStorageFull(org, quotaBytes);
    },
    onToolLink(uid, epoch) {
      if (now.state === 'Leading') now.leader.onToolLink(uid, epoch);
    },
    onChange:
      (authenticator, ssh) =>
      ({ address }) => {
        if (CREDENTIAL_KINDS.has(address.kind)) authenticator.forget(address);
        if (SSH_KINDS.has(address.kind)) ssh.changed(address);
      },
  };
}

/**
 * An object of this interface whose members are those of the part that serves now. `current` throws while there is none: so a
 * member has to be taken at each call, and never kept.
 */
const whileLeader = <T extends object>(current: () => T): T =>
  new Proxy({} as T, { get: (_, member) => Reflect.get(current(), member) });
