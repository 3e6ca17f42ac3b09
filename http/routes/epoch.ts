/** Owns reading `epoch=` of an interactive route: what is asked for belongs to this epoch, or to the present one when it is not named. */
import { refuse } from '../../src/api/refusal.js';
import type { Exchange } from '../exchange.js';

export function readEpoch(x: Exchange): number | undefined {
  const text = x.query.get('epoch');
  if (text === null || text === '') return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw refuse('BadRequest', 'epoch must be a whole number from 1');
  return Number(text);
}
