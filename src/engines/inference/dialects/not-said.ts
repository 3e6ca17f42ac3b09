/** How members of a request are refused that another dialect has no word for, and how numbers are read for one. */
import { isObject } from '../../../api/safe-value.js';
import { type Body, isGiven } from './body.js';
import { CannotCarry, type Tool, type ToolChoice } from './conversation.js';

export const NOT_SAID =
  'must be left out: the model is served by an upstream of another dialect, which has no such thing';

/** Of an object within a request: what is `known`, since it is read or changes no answer. Throws a `CannotCarry` for anything else that is given. */
export function checkMembers(object: Body, at: string, known: ReadonlySet<string>): void {
  const other = Object.keys(object).find((member) => !known.has(member) && isGiven(object[member]));
  if (other !== undefined) throw new CannotCarry(`${at}.${other}`, NOT_SAID);
}

/** A tool that has to be called is one of those that the request describes. */
export function checkChoice(choice: ToolChoice | undefined, tools: readonly Tool[]): void {
  if (choice?.is === 'Any' && tools.length === 0)
    throw new CannotCarry('tool_choice', 'must be left out without tools');
  if (choice?.is === 'Tool' && !tools.some(({ name }) => name === choice.name))
    throw new CannotCarry('tool_choice', 'must name one of the tools');
}

/** Undefined: it is not given. */
export function booleanOf(value: unknown, at: string): boolean | undefined {
  if (!isGiven(value)) return undefined;
  if (typeof value === 'boolean') return value;
  throw new CannotCarry(at, 'must be true or false');
}

/** Undefined: it is not given. */
export function textOf(value: unknown, at: string): string | undefined {
  if (!isGiven(value)) return undefined;
  if (typeof value === 'string') return value;
  throw new CannotCarry(at, 'must be a text');
}

/** Empty: it is not given. */
export function objectOf(value: unknown, at: string): Body {
  if (!isGiven(value)) return {};
  if (isObject(value)) return value;
  throw new CannotCarry(at, 'must be an object');
}

export function numberOf(body: Body, member: string): number | undefined {
  const value = body[member];
  if (!isGiven(value)) return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new CannotCarry(member, 'must be a number');
}
