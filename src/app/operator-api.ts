/** What `/ops/v1` sees and does: actors and their supervisors, admissions, orgs, and the ledger's auditor. */
import type { Actors } from '../../actors/open.js';
import { createOrg, recoverOrg, type OrgDeps } from '../../actors/orgs.js';
import type { LedgerAudits, Operators } from '../../http/deps.js';
import type { Objects } from '../../storage/store.js';
import { kindByName } from '../kinds/index.js';

const UID = /^[0-9a-f-]{36}$/;

export function openOperators(
  { operators, admissions }: Pick<Actors, 'operators' | 'admissions'>,
  orgs: OrgDeps,
  objects: Pick<Objects, 'addressOf'>,
  ledger: LedgerAudits,
): Operators {
  const addressOf = async (uid: string) => (UID.test(uid) ? objects.addressOf(uid) : undefined);
  return {
    async supervisors(kind) {
      const all = operators.supervisors();
      return kind === undefined ? all : all.find((view) => view.kind === kind);
    },
    parked: async (kind, limit, after) => kindByName(kind) && operators.parked(kind, limit, after),
    async restartSupervisor(kind) {
      if (!kindByName(kind)) return false;
      await operators.restartKind(kind);
      return true;
    },
    async actor(uid) {
      const address = await addressOf(uid);
      return address && operators.actor(address);
    },
    async restartActor(uid) {
      const address = await addressOf(uid);
      if (!address) return false;
      await operators.restartActor(address);
      return true;
    },
    ledger,
    admissions: async (paused) => ({ paused: await admissions(paused) }),
    async orgs() {
      const rows = await orgs.rows.list();
      return rows.map(({ org, name, created }) => ({ org, name, creationTimestamp: new Date(created).toISOString() }));
    },
    createOrg: (name, keyed) => createOrg(name, orgs, keyed),
    recoverOrg: (name, keyed) => recoverOrg(name, orgs, keyed),
  };
}
