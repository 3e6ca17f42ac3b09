/**
 * Owns reading what all interactive routes may be asked with: `epoch=`, to which what is asked for belongs (else the present one),
 * and `wait=`, how long to wait for the start of what is starting.
 */
import { parseDuration } from '../../src/api/duration.js';
import { refuse } from '../../src/api/refusal.js';
import type { Exchange } from '../exchange.js';

const LONGEST_WAIT_MS = 60_000;

export function readEpoch(x: Exchange): number | undefined {
  const text = x.query.get('epoch');
  if (text === null || text === '') return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw refuse('BadRequest', 'epoch must be a number of at least 1');
  return Number(text);
}

/** Milliseconds; 0 when it is not named. */
export function readWait(x: Exchange): number {
  const text = x.query.get('wait');
  if (text === null || text === '') return 0;
  const ms = parseDuration(text);
  if (ms === undefined || ms > LONGEST_WAIT_MS) throw refuse('BadRequest', 'wait must be a duration of at most 60s');
  return ms;
}
