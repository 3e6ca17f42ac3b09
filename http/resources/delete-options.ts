/**
 * The options of a delete, which may stand in the query or in a body of kind DeleteOptions (kubectl sends the
 * latter). A body that says something wins over the query, as in Kubernetes.
 */
import { z } from 'zod';
import type { DeleteOptions } from '../../actors/resource-service.js';
import type { Bodies } from '../body.js';
import type { Exchange } from '../exchange.js';
import { readInput } from '../input.js';
import { invalid, readDryRun, unsupportedValue } from './options.js';
import { parseObject } from './parse.js';
import { readBoolean } from './versions.js';

const POLICIES: readonly string[] = ['Foreground', 'Background', 'Orphan'];

/** Clients send more than we know (kind, orphanDependents, …): what we do not know is left alone. */
const Body = z.object({
  propagationPolicy: z.string().nullish(),
  gracePeriodSeconds: z.int().nullish(),
  dryRun: z.array(z.string()).max(8).nullish(),
  orphanDependents: z.boolean().nullish(),
  preconditions: z.object({ uid: z.string().nullish(), resourceVersion: z.string().nullish() }).nullish(),
});

export interface ReadDeleteOptions {
  readonly options: DeleteOptions;
  readonly dryRun: boolean;
}

async function bodyOptions(x: Exchange, bodies: Bodies, bytes: Buffer): Promise<z.output<typeof Body>> {
  if (bytes.length === 0) return {};
  const { value } = await parseObject(x, bodies, bytes);
  return readInput(Body, value, 'DeleteOptions are');
}

function policy(
  text: string | null | undefined,
  orphan: boolean | null | undefined,
): DeleteOptions['propagationPolicy'] {
  if (text === null || text === undefined || text === '') return orphan === true ? 'Orphan' : undefined;
  if (!POLICIES.includes(text)) throw unsupportedValue('propagationPolicy', text, POLICIES);
  return text as DeleteOptions['propagationPolicy'];
}

function grace(fromBody: number | null | undefined, fromQuery: string | null): number | undefined {
  const value = fromBody ?? (fromQuery === null || fromQuery === '' ? undefined : Number(fromQuery));
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return value;
  const message = 'must be a whole number of seconds, 0 or more';
  throw invalid(`gracePeriodSeconds: ${message}`, [
    { field: 'gracePeriodSeconds', reason: 'FieldValueInvalid', message },
  ]);
}

export async function readDeleteOptions(x: Exchange, bodies: Bodies, bytes: Buffer): Promise<ReadDeleteOptions> {
  const body = await bodyOptions(x, bodies, bytes);
  const { query } = x;
  const orphan = readBoolean(query, 'orphanDependents') === true || body.orphanDependents === true;
  const { uid, resourceVersion } = body.preconditions ?? {};
  return {
    dryRun: readDryRun([...(body.dryRun ?? []), ...query.getAll('dryRun')]),
    options: {
      propagationPolicy: policy(body.propagationPolicy ?? query.get('propagationPolicy'), orphan),
      gracePeriodSeconds: grace(body.gracePeriodSeconds, query.get('gracePeriodSeconds')),
      preconditions:
        uid || resourceVersion ? { uid: uid || undefined, resourceVersion: resourceVersion || undefined } : undefined,
    },
  };
}
