/** Owns the list of all routes that are declared and not served yet. */
import { ABSOLUTE_ROUTES } from './absolute.js';
import { CALL_ROUTES } from './calls.js';
import { DATA_ROUTES } from './data.js';
import type { BelowRoute } from './declared.js';
import { LOG_ROUTES } from './logs.js';
import { WALLET_ROUTES } from './wallet.js';

export const DECLARED_BELOW: readonly BelowRoute[] = [...LOG_ROUTES, ...DATA_ROUTES, ...CALL_ROUTES];

export { ABSOLUTE_ROUTES as DECLARED_ABSOLUTE, WALLET_ROUTES as DECLARED_BESIDE };
