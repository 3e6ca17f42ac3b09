/**
 * The declaration of Wallet: the settings and notices of an org's money. It has no routes of a kind: `/wallet` serves it together with the
 * ledger's figures, and the service makes it with the org.
 */
import { NO_OPERATIONS } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { walletMachine } from './machine.js';
import { walletSpec, walletStatus, type WalletStatus } from './schema.js';

export const walletKind: KindDefinition = {
  kind: 'Wallet',
  plural: 'wallets',
  singular: 'wallet',
  shortNames: [],
  categories: ['billing'],
  scope: 'org',
  group: 'api',
  version: 'v1',
  operations: NO_OPERATIONS,
  description: 'The money of the org: when it warns, and when it buys credits by itself.',
  schema: { spec: walletSpec, status: walletStatus, immutable: [], raiseOnly: [] },
  columns: [],
  selectableFields: {},
  initialStatus: (): WalletStatus => ({ phase: 'Ready' }),
  machine: walletMachine,
};
