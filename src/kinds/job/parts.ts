/**
 * A Job in parts, as a Pipeline writes it: a stage's template over the defaults of all stages. Objects are laid over each other field by
 * field, so that a stage which names one resource, or one preset, keeps what the defaults say of the others; lists and values are replaced
 * whole. `source` is one of several forms, so it is replaced whole too. Pure.
 */
import { isObject } from '../../api/safe-value.js';
import { formatDuration, parseDuration } from '../../api/duration.js';
import { UNSAID, type JobParts, type JobSpec } from './schema.js';

type Fields = Readonly<Record<string, unknown>>;

/** Fields of which exactly one form may be there. */
const WHOLE: ReadonlySet<string> = new Set(['source']);

/** The Job that a part over another one makes, with the defaults of a Job where neither says anything. */
export function laidOver(under: JobParts, over: JobParts): JobSpec {
  return { ...UNSAID, ...partsOver(under, over) };
}

/** The same without the defaults of a Job. The alias of `timeout` is folded first: what a stage says of either counts. */
export function partsOver(under: JobParts, over: JobParts): JobParts {
  return mergeFields(foldAlias(under), foldAlias(over));
}

function mergeFields(under: Fields, over: Fields): Fields {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue;
    const below = merged[key];
    merged[key] = isObject(below) && isObject(value) && !WHOLE.has(key) ? mergeFields(below, value) : value;
  }
  return merged;
}

function foldAlias(part: JobParts): JobParts {
  if (part.activeDeadlineSeconds === undefined) return part;
  const { activeDeadlineSeconds, ...rest } = part;
  return { ...rest, timeout: rest.timeout ?? formatDuration(activeDeadlineSeconds * 1000) };
}

/** Both may be written when they say the same. */
export function contradictsAlias({ activeDeadlineSeconds, timeout }: JobParts): boolean {
  return (
    activeDeadlineSeconds !== undefined &&
    timeout !== undefined &&
    parseDuration(timeout) !== activeDeadlineSeconds * 1000
  );
}

/** Whether a part itself says something of this field, such as `.resources.gpu`; of a list the field is the list. */
export function says(part: JobParts, field: string): boolean {
  const keys = field.split('.').slice(1);
  return saysAt(
    part,
    keys.map((key) => key.split('[')[0] ?? ''),
  );
}

/** The same of a path, as an issue of Zod has it. */
export function saysAt(part: JobParts, path: readonly PropertyKey[]): boolean {
  let value: unknown = part;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return false;
    value = value[String(key)];
    if (Array.isArray(value)) return true;
  }
  return true;
}
