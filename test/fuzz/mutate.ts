/** Makes an accepted spec wrong at one known place. */
import type * as fc from 'fast-check';
import { below } from '../../src/api/path.js';
import { options, stepInto, type Schema } from './generate.js';
import { pick } from './texts.js';

export interface Mutation {
  readonly spec: Record<string, unknown>;
  /** Path of what is wrong, as a cause names it. */
  readonly field: string;
  readonly what: string;
  /** The place may be read in several ways, so the cause may name what it stands in. */
  readonly loose: boolean;
}

interface Spot {
  readonly steps: readonly (string | number)[];
  readonly schema: Schema;
  readonly value: unknown;
  readonly loose: boolean;
}

/** Undefined when nothing in this spec can certainly be made wrong. */
export function mutate(g: fc.GeneratorValue, spec: Record<string, unknown>, schema: Schema): Mutation | undefined {
  const spots = [...spotsOf(spec, schema, [], false)];
  for (let tries = 0; tries < 10 && spots.length > 0; tries += 1) {
    const spot = pick(g, spots);
    const wrong = pick(g, WAYS)(spot);
    if (wrong === undefined) continue;
    const copy = structuredClone(spec);
    const steps = [...spot.steps, ...wrong.below];
    const last = steps.pop();
    if (last === undefined) continue;
    let place = copy as Record<string | number, unknown>;
    for (const step of steps) place = place[step] as Record<string | number, unknown>;
    place[last] = wrong.value;
    const field = [...spot.steps, ...wrong.below].reduce<string>((path, step) => below(path, step), 'spec');
    return { spec: copy, field, what: wrong.what, loose: spot.loose };
  }
  return undefined;
}

interface Wrong {
  readonly what: string;
  readonly below: readonly string[];
  readonly value: unknown;
}

const WAYS: readonly ((spot: Spot) => Wrong | undefined)[] = [
  ({ schema }) =>
    schema.type === 'string' && schema.enum === undefined
      ? { what: 'an object for a text', below: [], value: { no: 'text' } }
      : undefined,
  ({ schema }) =>
    schema.type === 'string' || schema.type === 'integer' || schema.type === 'number' || schema.type === 'boolean'
      ? { what: 'a list for a scalar', below: [], value: [[]] }
      : undefined,
  ({ schema }) => (schema.type === 'array' ? { what: 'a number for a list', below: [], value: 7 } : undefined),
  ({ schema }) => (schema.type === 'object' ? { what: 'a flag for an object', below: [], value: true } : undefined),
  ({ schema }) => (schema.type === 'integer' ? { what: 'a broken number', below: [], value: 1.5 } : undefined),
  ({ schema }) =>
    schema.type === 'integer' || schema.type === 'number'
      ? schema.maximum === undefined
        ? undefined
        : { what: 'above the maximum', below: [], value: schema.maximum + 1 }
      : undefined,
  ({ schema }) =>
    schema.minimum === undefined ? undefined : { what: 'below the minimum', below: [], value: schema.minimum - 1 },
  ({ schema }) =>
    schema.enum === undefined ? undefined : { what: 'a word that is none of them', below: [], value: 'NoSuchWord' },
  ({ schema, value }) =>
    schema.maxItems !== undefined && Array.isArray(value) && value.length > 0 && schema.maxItems <= 1_000
      ? {
          what: 'too many elements',
          below: [],
          value: Array.from({ length: schema.maxItems + 1 }, () => value[0] as unknown),
        }
      : undefined,
  ({ schema }) =>
    schema.maxLength !== undefined && schema.maxLength <= 100_000
      ? { what: 'a text that is too long', below: [], value: 'a'.repeat(schema.maxLength + 1) }
      : undefined,
  ({ schema }) =>
    schema.type === 'object' && schema.properties !== undefined && typeof schema.additionalProperties !== 'object'
      ? { what: 'a member that nobody knows', below: ['noSuchMember'], value: 'x' }
      : undefined,
];

function* spotsOf(
  value: unknown,
  schema: Schema,
  steps: readonly (string | number)[],
  loose: boolean,
): Generator<Spot> {
  const choice = options(schema).length > 0;
  // Of a choice it is not known which branch a reader takes, so only what is below it in one branch is looked at.
  if (!choice && steps.length > 0) yield { steps, schema: schema.allOf?.[0] ?? schema, value, loose };
  const vague = loose || choice;
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) {
      yield* spotsOf(element, stepInto(schema, index, element), [...steps, index], vague);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      yield* spotsOf(member, stepInto(schema, name, member), [...steps, name], vague);
    }
  }
}
