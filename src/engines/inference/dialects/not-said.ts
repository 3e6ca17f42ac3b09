/** How a member of a request is refused that another dialect has no word for, and how numbers are read for one. */
import { type Body, isGiven } from './body.js';
import { CannotCarry } from './conversation.js';

export const NOT_SAID =
  'must be left out: the model is served by an upstream of another dialect, which has no such thing';

export function numberOf(body: Body, member: string): number | undefined {
  const value = body[member];
  if (!isGiven(value)) return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new CannotCarry(member, 'must be a number');
}
