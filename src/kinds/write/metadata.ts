/** The part of metadata that clients write, and how it changes: labels, annotations, finalizers, owners. */
import { API_GROUP } from '../../brand.js';
import { equalJson } from '../../api/equal.js';
import type { MetadataInput } from '../../api/metadata.js';
import type { ObjectMeta } from '../../api/object.js';
import type { Cause } from '../../api/refusal.js';
import type { KindDefinition } from '../kind.js';

export type WritableMeta = Pick<ObjectMeta, 'labels' | 'annotations' | 'finalizers' | 'ownerReferences'>;

/** Empty maps and lists are left out: they mean the same as absent ones. Finalizers are a set. */
export function writableOf(input: MetadataInput): WritableMeta {
  const writable: { -readonly [Key in keyof WritableMeta]: WritableMeta[Key] } = {};
  if (!isEmpty(input.labels)) writable.labels = input.labels ?? {};
  if (!isEmpty(input.annotations)) writable.annotations = input.annotations ?? {};
  if (!isEmpty(input.finalizers)) writable.finalizers = [...new Set(input.finalizers)];
  if (!isEmpty(input.ownerReferences)) writable.ownerReferences = input.ownerReferences ?? [];
  return writable;
}

export function sameWritable(one: WritableMeta, other: WritableMeta): boolean {
  return (
    equalJson(one.labels, other.labels) &&
    equalJson(one.annotations, other.annotations) &&
    equalJson(one.finalizers, other.finalizers) &&
    equalJson(one.ownerReferences, other.ownerReferences)
  );
}

/** The metadata with its writable part replaced. */
export function withWritable(current: ObjectMeta, writable: WritableMeta): ObjectMeta {
  const { labels: _, annotations: __, finalizers: ___, ownerReferences: ____, ...rest } = current;
  return { ...rest, ...writable };
}

/** Finalizers of the service's own group that the object does not have: no machine knows that it placed them, so none would take them away. */
export function serviceFinalizersIn({ finalizers }: MetadataInput, current?: ObjectMeta): readonly ServiceFinalizer[] {
  return [...(finalizers ?? []).entries()]
    .filter(([, name]) => isOwnFinalizer(name) && current?.finalizers?.includes(name) !== true)
    .map(([index, name]) => ({
      name,
      cause: {
        field: `metadata.finalizers[${index}]`,
        reason: 'FieldValueForbidden',
        message: `Forbidden: ${JSON.stringify(name)} is a finalizer of the service, which alone places it`,
      },
    }));
}

interface ServiceFinalizer {
  readonly name: string;
  readonly cause: Cause;
}

/** Undefined when there are none. */
export function fixOfServiceFinalizers(placed: readonly ServiceFinalizer[]): string | undefined {
  if (placed.length === 0) return undefined;
  const names = placed.map(({ name }) => name).join(' and ');
  return `Leave ${names} out of metadata.finalizers: the service places finalizers of ${API_GROUP} and takes them away itself.`;
}

function isOwnFinalizer(name: string): boolean {
  const [domain = '', ...rest] = name.split('/');
  return rest.length > 0 && (domain === API_GROUP || domain.endsWith(`.${API_GROUP}`));
}

/** Once deletion was asked for, finalizers only go: a new one could hold the object for ever. */
export function checkFinalizers(current: ObjectMeta, next: WritableMeta): Cause | undefined {
  if (current.deletionTimestamp === undefined) return undefined;
  const added = (next.finalizers ?? []).filter(
    (name) => !isOwnFinalizer(name) && current.finalizers?.includes(name) !== true,
  );
  if (added.length === 0) return undefined;
  return {
    field: 'metadata.finalizers',
    reason: 'FieldValueForbidden',
    message: `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`,
  };
}

/** An object that no client can change keeps its finalizers for ever, so a new one takes none. */
export function checkNewFinalizers({ kind, operations }: KindDefinition, input: MetadataInput): Cause | undefined {
  if (isEmpty(input.finalizers) || operations.has('patch') || operations.has('replace')) return undefined;
  return {
    field: 'metadata.finalizers',
    reason: 'FieldValueForbidden',
    message: `Forbidden: ${kind} objects cannot be changed, so a finalizer could never be removed`,
  };
}

function isEmpty(value: object | null | undefined): boolean {
  if (value === undefined || value === null) return true;
  for (const _ in value) return false;
  return true;
}
