/** What a list and a watch read alike before they begin: what is ranged over, and in which form it is shown. */
import type { Caller } from '../../actors/resource-service.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { notAcceptable } from '../errors.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';
import type { Rendering } from '../table/rendering.js';
import { readForm, readIncludeObject } from './answer.js';
import { readScan, type Scan } from './range.js';

export interface View {
  readonly scan: Scan;
  readonly rendering: Rendering;
}

export function readView(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  project: string | undefined,
): View {
  const form = readForm(x);
  // What is streamed cannot be made YAML of.
  if (form.form === 'object' && form.yaml) throw notAcceptable();
  const scan = readScan(x, caller, kind, project, 'read');
  return { scan, rendering: context.renderings.of(form, kind, readIncludeObject(x)) };
}
