/**
 * The id of a delivery: the `webhook-id`, the same for all attempts. It begins with the time, so that the order of
 * ids is that of the log, and the rest is a hash of what the delivery is made from, so that a delivery made twice is one (I5).
 */
import { createHash } from 'node:crypto';

const PREFIX = 'msg_';
/** Enough for milliseconds until the year 10889. */
const TIME_DIGITS = 12;
/** 80 bits beside the millisecond. */
const HASH_DIGITS = 20;

/** As a pattern for what clients send. */
export const DELIVERY_ID = /^msg_[0-9a-f]{32}$/;

/** `time` in ms since the epoch. */
export function deliveryId(time: number, parts: readonly (string | number)[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return deliveryIdFrom(time) + hash.slice(0, HASH_DIGITS);
}

/** Before every id of this millisecond or later, and behind every earlier one. */
export function deliveryIdFrom(time: number): string {
  return PREFIX + Math.floor(time).toString(16).padStart(TIME_DIGITS, '0');
}
