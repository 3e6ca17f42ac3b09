/**
 * Makes random specs that a kind accepts, from the very JSON Schema that the documents show: required members
 * always, others by chance, numbers at their bounds. Rules between fields are not in a JSON Schema, so what the kind
 * complains about is made anew or left out until it accepts the rest.
 */
import * as fc from 'fast-check';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { pick, textFor } from './texts.js';

export interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly nullable?: boolean;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number | boolean;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Rounds of mending before a spec is given up. */
const ROUNDS = 60;
const DEEPEST = 6;

export function options(schema: Schema): readonly Schema[] {
  return schema.anyOf ?? schema.oneOf ?? [];
}

export function generate(g: fc.GeneratorValue, schema: Schema, depth = 0): unknown {
  const choices = options(schema);
  if (choices.length > 0) return generate(g, pick(g, choices), depth);
  if (schema.allOf?.[0] !== undefined) return generate(g, schema.allOf[0], depth);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined)
    return pick(
      g,
      schema.enum.filter((value) => value !== null),
    );
  switch (schema.type) {
    case 'object':
      return generateObject(g, schema, depth);
    case 'array': {
      const least = schema.minItems ?? 0;
      const length = g(fc.integer, { min: least, max: Math.min(schema.maxItems ?? 3, least + 2) });
      return Array.from({ length }, () => generate(g, schema.items ?? {}, depth + 1));
    }
    case 'integer':
    case 'number': {
      const { minimum: min = 0, maximum: max = 1_000 } = schema;
      const middle = Math.floor((min + max) / 2);
      return pick(g, [min, max, Math.min(min + 1, max), Math.min(Math.max(8, min), max), middle]);
    }
    case 'boolean':
      return g(fc.boolean);
    case 'string':
      return textFor(g, schema) ?? 'a';
    default:
      return pick<unknown>(g, ['text', 7, true, ['x'], { key: 'value' }]);
  }
}

function generateObject(g: fc.GeneratorValue, schema: Schema, depth: number): Record<string, unknown> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const made: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(properties)) {
    const wanted = required.includes(name) || (depth < DEEPEST && g(fc.nat, 2 + depth) === 0);
    if (wanted) made[name] = generate(g, member, depth + 1);
  }
  if (typeof additionalProperties === 'object') {
    for (let more = g(fc.nat, 2); more > 0; more -= 1) {
      made[pick(g, ['a', 'LR', 'key-1', 'X_1', 'L4'])] = generate(g, additionalProperties, depth + 1);
    }
  }
  return made;
}

/** Undefined when it did not come to a spec that the kind accepts. */
export function generateSpec(g: fc.GeneratorValue, kind: KindDefinition, schema: Schema): unknown {
  let spec = generate(g, schema) as Record<string, unknown>;
  for (let round = 0; round < ROUNDS; round += 1) {
    const parsed = kind.schema.spec.safeParse(spec);
    if (parsed.success) return spec;
    for (const { path } of parsed.error.issues.slice(0, 8)) mend(g, spec, schema, path);
    // What cannot be mended piece by piece is begun anew.
    if (round % 20 === 19) spec = generate(g, schema) as Record<string, unknown>;
  }
  return undefined;
}

/** Makes what stands at the path anew, or takes it away. */
function mend(g: fc.GeneratorValue, spec: Record<string, unknown>, schema: Schema, path: readonly PropertyKey[]): void {
  let place: unknown = spec;
  let shape: Schema = schema;
  for (const [depth, step] of path.entries()) {
    if (typeof place !== 'object' || place === null || typeof step === 'symbol') return;
    const at = place as Record<string | number, unknown>;
    const below = stepInto(shape, step, at[step]);
    if (depth < path.length - 1 && at[step] !== undefined && typeof at[step] === 'object') {
      place = at[step];
      shape = below;
      continue;
    }
    if (at[step] === undefined || g(fc.boolean)) at[step] = generate(g, below, depth + 1);
    else if (Array.isArray(place)) place.splice(Number(step), 1);
    else delete at[step];
    return;
  }
}

/** The schema of a member or element; of several, the one that knows the step. */
export function stepInto(schema: Schema, step: string | number, value?: unknown): Schema {
  const choices = options(schema);
  if (choices.length > 0) {
    const fitting = choices.find((choice) => Object.keys(stepInto(choice, step, value)).length > 0);
    return fitting === undefined ? {} : stepInto(fitting, step, value);
  }
  if (schema.allOf?.[0] !== undefined) return stepInto(schema.allOf[0], step, value);
  if (typeof step === 'number' || (schema.type === 'array' && /^\d+$/.test(step))) return schema.items ?? {};
  const { properties = {}, additionalProperties } = schema;
  if (Object.hasOwn(properties, step)) return properties[step] ?? {};
  return typeof additionalProperties === 'object' ? additionalProperties : {};
}
