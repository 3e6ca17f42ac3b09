/** Owns the part of a Pool that a PoolAction may change: when its work goes to the market. Source: spec, "PoolAction", `change`. */
import { z } from 'zod';
import { zDuration } from '../../api/schema.js';

const maxGPUs = z.int32().min(0).describe('GPUs of the market that may be used at the same time.');
const toMarket = z.boolean().describe('Work that finds no place in the Pool may go to the market.');
const waitTimeout = zDuration({ description: 'How long work waits for a place in the Pool before it may go.' });

/** As a Pool's spec spells it. */
export const burst = z.object({
  maxGPUs: maxGPUs.optional(),
  toMarket: toMarket.optional(),
  waitTimeout: waitTimeout.optional(),
});

/** As PoolActions spell it, and the Pool's status. */
export const routing = z.object({
  burstMaxGPUs: maxGPUs.optional(),
  burstToMarket: toMarket.optional(),
  waitTimeout: waitTimeout.optional(),
});
