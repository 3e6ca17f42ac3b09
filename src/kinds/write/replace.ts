/** PUT: the body is the whole desired object, and what it leaves out is taken away. */
import type { ApiObject } from '../../api/object.js';
import type { KindDefinition } from '../kind.js';
import type { Prepared, RefusedWrite, WriteContext } from './prepared.js';
import { prepareUpdate } from './update.js';

/** Without `metadata.resourceVersion` in the body it is unconditional. */
export function prepareReplace(
  kind: KindDefinition,
  current: ApiObject,
  body: Readonly<Record<string, unknown>>,
  ctx: WriteContext,
): Prepared | RefusedWrite {
  return prepareUpdate(kind, current, body, ctx);
}
