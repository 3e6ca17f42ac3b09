/**
 * The objects that the deployment keeps for itself: the bootstrap org, the Node of this machine, and the catalogs, which are read
 * again at each SIGHUP, as is the price book.
 */
import { randomBytes } from 'node:crypto';
import type { Actors } from '../../actors/open.js';
import { openKeyedAnswers } from '../../actors/keyed-answers.js';
import { ensureBootstrapOrg, keep, type OrgDeps } from '../../actors/orgs.js';
import { openOrgs } from '../../storage/orgs.js';
import { refuse } from '../api/refusal.js';
import { LOCAL_NODE } from '../kinds/node/local.js';
import type { Prices } from './catalog/prices.js';
import type { LeaderDeps } from './leader.js';
import { keepCatalog, type CatalogChanges } from './catalog/store-catalog.js';
import { readCatalog } from './catalog/read-catalog.js';
import { openReload, logFaults } from './catalog/reload-catalog.js';
import { listedEntries } from './catalog/usable.js';
import { onHangup } from './signals.js';

/** Creates or updates them. `served`: Models that some upstream serves. Answers how orgs are made. */
export async function keepDeployment(
  { config, store, engine, log }: Pick<LeaderDeps, 'config' | 'store' | 'engine' | 'log'>,
  actors: Pick<Actors, 'write' | 'resources' | 'keepAnswer' | 'ledger'>,
  { prices, served }: { readonly prices: Prices; readonly served: ReadonlySet<string> },
  stopping: AbortSignal,
): Promise<OrgDeps> {
  const orgs: OrgDeps = {
    ...{ rows: openOrgs(store.postgres), making: new Set(), write: actors.write, randomBytes },
    async setWallet(org) {
      const set = await actors.ledger(org, [{ op: 'SetMode', mode: config.wallet }]);
      if (set.outcome !== 'Committed')
        throw refuse('Unavailable', 'the wallet could not be set', { retryAfterSeconds: 1 });
    },
    answers: openKeyedAnswers(store.responses, actors),
  };
  await ensureBootstrapOrg(orgs, config.bootstrapCredits);
  const capacity = await engine?.facts(stopping);
  const keepObjects = async (): Promise<CatalogChanges> => {
    const own = capacity?.refusal === undefined ? capacity : undefined;
    const objects = await readCatalog(own, prices.current(), config.catalogDir);
    return keepCatalog(listedEntries(objects, config.catalogUnusable, served), actors, stopping);
  };
  const readAgain = async (): Promise<CatalogChanges> => {
    await prices.readAgain();
    return keepObjects();
  };
  await keep([{ address: LOCAL_NODE, spec: {} }], orgs);
  // Files that were broken since the start do not keep a standby from taking over: what is stored stays.
  await keepObjects().catch((error: unknown) => {
    if (!logFaults(error, log)) throw error;
  });
  onHangup(openReload(readAgain, log), stopping);
  return orgs;
}
