/**
 * Reads what all interactive routes may be asked with: `epoch=`, to which what is asked for belongs (else the present one),
 * and `wait=`, how long to wait for the start of what is starting.
 */
import { readDuration } from '../../src/api/duration.js';
import { badParameter } from '../bad-parameter.js';
import type { Exchange } from '../exchange.js';

const LONGEST_WAIT_MS = 60_000;

export function readEpoch(x: Exchange): number | undefined {
  const text = x.query.get('epoch');
  if (text === null || text === '') return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    const fix = 'Leave epoch out for the present one, or send that of an earlier answer.';
    throw badParameter('epoch', text, 'must be a whole number of at least 1', fix);
  }
  return Number(text);
}

/** Milliseconds; 0 when it is not named. */
export function readWait(x: Exchange): number {
  const text = x.query.get('wait');
  if (text === null || text === '') return 0;
  const ms = readDuration(text);
  if (ms === undefined || ms > LONGEST_WAIT_MS) {
    throw badParameter('wait', text, 'must be a duration of at most 60s', 'Ask for wait=30s, for example.');
  }
  return ms;
}
