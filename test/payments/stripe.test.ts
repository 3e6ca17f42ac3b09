/** Stripe's processor keeps the contract, against a local server that speaks Stripe's API. */
import { testContract } from './contract.js';
import { openStripeBench } from './support/stripe-bench.js';

testContract('Stripe', { failsRefunds: true, refusesCards: true }, () => openStripeBench());
