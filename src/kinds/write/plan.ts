/** What is worked out of a kind's definition once, so that a write only walks its own body. */
import type { z } from 'zod';
import { compileGuards } from '../../api/immutable.js';
import type { Guards } from '../../api/immutable.js';
import { metadataInput } from '../../api/metadata.js';
import { compileShape } from '../../api/shape.js';
import type { Shape } from '../../api/shape.js';
import type { KindDefinition } from '../kind.js';
import { compiled } from '../../api/zod-internals.js';
import { apiVersionOf } from '../versions.js';

export interface WritePlan {
  readonly apiVersion: string;
  /** The kind's schema of specs, for reading. */
  readonly spec: z.ZodType;
  readonly specShape: Shape;
  readonly guards: Guards;
}

const plans = new WeakMap<KindDefinition, WritePlan>();

export function planOf(kind: KindDefinition): WritePlan {
  const known = plans.get(kind);
  if (known !== undefined) return known;
  const plan: WritePlan = {
    apiVersion: apiVersionOf(kind),
    spec: compiled(kind.schema.spec),
    specShape: compileShape(kind.schema.spec),
    guards: compileGuards(kind.schema.immutable, kind.schema.raiseOnly),
  };
  plans.set(kind, plan);
  return plan;
}

export const METADATA = compiled(metadataInput);

export const METADATA_SHAPE = compileShape(metadataInput);
