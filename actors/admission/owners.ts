/**
 * Checks that each owner that an object newly names is where the reference leads: of that kind, name and uid, in the object's
 * own project or, for a kind of the org, in the org. Of any other, the object would never be collected, and an owner that is
 * deleted in the foreground would wait for it for ever, since neither finds the other.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { Cause } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';

export interface OwnerDeps {
  kindOf(name: string): KindDefinition | undefined;
  readonly read: (address: Address) => Promise<Buffer | undefined>;
}

/** `before`: what the object was. The owners that it had are not looked for again: they may be gone. */
export async function checkOwners(
  { org, project }: Address,
  object: ApiObject,
  before: ApiObject | undefined,
  deps: OwnerDeps,
): Promise<readonly Cause[]> {
  const had = new Set(before?.metadata.ownerReferences?.map(({ uid }) => uid));
  const causes: Cause[] = [];
  for (const [i, { kind, name, uid }] of (object.metadata.ownerReferences ?? []).entries()) {
    if (had.has(uid)) continue;
    const scope = deps.kindOf(kind)?.scope;
    const of = scope === 'org' ? '' : project;
    const body = scope === undefined ? undefined : await deps.read({ org, kind, project: of, name });
    if (body !== undefined && decodeObject(body).metadata.uid === uid) continue;
    const where = scope === 'project' && project !== '' ? ` in project "${project}"` : '';
    causes.push({
      field: `metadata.ownerReferences[${i}]`,
      reason: 'FieldValueInvalid',
      message: `Invalid value: "${uid}": there is no ${kind} "${name}" with this uid${where}; an owner is in the project of what it owns, or of the org`,
    });
  }
  return causes;
}
