/** What goes into and comes out of the generic half of a write. All of this room is pure (I9): no clock, ids or chance. */
import type { Address } from '../../api/address.js';
import type { ApiObject } from '../../api/object.js';
import type { Refusal } from '../../api/refusal.js';
import type { KindDefinition } from '../kind.js';
import type { DecisionContext } from '../machine.js';
import { groupOf } from '../versions.js';

export interface WriteContext {
  readonly context: DecisionContext;
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore';
  readonly fieldManager: string;
  /** A dry run may use fields that are not built yet: it tells what would be, and starts nothing. */
  readonly dryRun: boolean;
  /** The entity tag of `If-Match`, without its quotes. */
  readonly ifMatch?: string | undefined;
  /** Paths of members that the body names twice. */
  readonly duplicates: readonly string[];
  /** Version of `current`; absent: the one in its metadata. */
  readonly currentVersion?: number | undefined;
}

export interface Prepared {
  readonly outcome: 'Prepared';
  /** What follows from the write before the machine has its say. `current` itself when nothing changed. */
  readonly object: ApiObject;
  /** Texts for `Warning: 299` headers. */
  readonly warnings: readonly string[];
  readonly specChanged: boolean;
  /** False: a no-op, which keeps its version. */
  readonly changed: boolean;
  /** Deletion was asked for and no finalizer is left: the object goes with this write. */
  readonly gone: boolean;
}

export interface RefusedWrite {
  readonly outcome: 'Refused';
  readonly refusal: Refusal;
}

export interface Target {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

export function targetOf(kind: KindDefinition, address: Pick<Address, 'name'>): Target {
  return { group: groupOf(kind), kind: kind.kind, name: address.name };
}

export function refused(refusal: Refusal): RefusedWrite {
  return { outcome: 'Refused', refusal };
}
