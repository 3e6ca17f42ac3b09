/**
 * The schemas of `metadata`: what a client may write, and everything that an object shows (spec, "Conventions" 3).
 * Fields that the service owns are taken from a client in any form and ignored, because clients send back what they read.
 */
import { z } from 'zod';
import { checkAnnotationKey, checkFinalizer, checkLabelKey, checkLabelValue, MAX_METADATA_BYTES } from './names.js';
import { zMap, zTimestamp } from './schema.js';

/** More than any object needs; each owner is a row that garbage collection reads. */
const MAX_OWNERS = 32;
const MAX_FINALIZERS = 32;
/** Each label is a word that every selector may ask for; each annotation a field that managers own. */
const MAX_LABELS = 1024;
const MAX_ANNOTATIONS = 4096;

const labels = zMap(z.string(), z.string(), MAX_LABELS).check((ctx) => {
  for (const key in ctx.value) {
    const value = ctx.value[key] ?? '';
    const complaint = checkLabelKey(key);
    if (complaint !== undefined) ctx.issues.push(custom(key, [], `${named(key)}: ${complaint}`));
    const wrong = checkLabelValue(value);
    if (wrong !== undefined) ctx.issues.push(custom(value, [key], wrong));
  }
});

const annotations = zMap(z.string(), z.string(), MAX_ANNOTATIONS).check((ctx) => {
  for (const key in ctx.value) {
    const complaint = checkAnnotationKey(key);
    if (complaint !== undefined) ctx.issues.push(custom(key, [], `${named(key)}: ${complaint}`));
  }
});

const ownerReference = z
  .object({
    apiVersion: z.string().min(1).meta({ description: 'apiVersion of the owner.' }),
    kind: z.string().min(1).meta({ description: 'Kind of the owner.' }),
    name: z.string().min(1).meta({ description: 'Name of the owner.' }),
    uid: z.string().min(1).meta({ description: 'uid of the owner; another object of the same name is no owner.' }),
    blockOwnerDeletion: z
      .boolean()
      .optional()
      .meta({ description: 'With foreground deletion, the owner waits until this object is gone.' }),
    controller: z.boolean().optional().meta({ description: 'True for the one owner that manages this object.' }),
  })
  .meta({ description: 'An object that this one belongs to. When all owners are gone, this object is deleted.' });

const ownerReferences = z
  .array(ownerReference)
  .max(MAX_OWNERS)
  .check((ctx) => {
    if (ctx.value.filter((owner) => owner.controller === true).length < 2) return;
    ctx.issues.push(custom(undefined, [], 'only one reference can have controller set to true'));
  });

const finalizers = z
  .array(z.string())
  .max(MAX_FINALIZERS)
  .check((ctx) => {
    for (const [index, name] of ctx.value.entries()) {
      const complaint = checkFinalizer(name);
      if (complaint !== undefined) ctx.issues.push(custom(name, [index], complaint));
    }
  });

const ignored = z.unknown().optional();

/** What a client may send. `name`, `namespace` and `generateName` are compared with the address by the write itself. */
export const metadataInput = z
  .object({
    name: z.string().nullish(),
    generateName: z.string().nullish(),
    namespace: z.string().nullish(),
    labels: labels.nullish(),
    annotations: annotations.nullish(),
    finalizers: finalizers.nullish(),
    ownerReferences: ownerReferences.nullish(),
    resourceVersion: z.string().nullish(),
    uid: ignored,
    selfLink: ignored,
    generation: ignored,
    creationTimestamp: ignored,
    deletionTimestamp: ignored,
    deletionGracePeriodSeconds: ignored,
    managedFields: ignored,
  })
  .check(({ value: { labels: keys, annotations: notes }, issues }) => {
    const [label, note] = [bytesOf(keys), bytesOf(notes)];
    if (label + note <= MAX_METADATA_BYTES) return;
    const rule = `labels and annotations may not be more than ${MAX_METADATA_BYTES} bytes together, and have ${label + note}`;
    issues.push(custom(undefined, [label > note ? 'labels' : 'annotations'], rule, 'FieldValueTooLong'));
  });

export type MetadataInput = z.infer<typeof metadataInput>;

const managedFields = z.object({
  apiVersion: z.string().optional().meta({ description: 'apiVersion that the fields were written in.' }),
  fieldsType: z.string().optional().meta({ description: 'Always FieldsV1.' }),
  fieldsV1: z.record(z.string(), z.unknown()).optional().meta({ description: 'The fields, as a tree of f:<name>.' }),
  manager: z.string().optional().meta({ description: 'Who set the fields.' }),
  operation: z.string().optional().meta({ description: 'Update or Apply.' }),
  subresource: z.string().optional().meta({ description: 'Part of the object that was written; empty for all of it.' }),
  time: zTimestamp().optional(),
});

/** All of `metadata`, as an object shows it; the component of OpenAPI. */
export const metadataSchema = z
  .object({
    name: z.string().optional().meta({ description: 'Unique per kind and project.' }),
    generateName: z
      .string()
      .optional()
      .meta({ description: 'Without a name, the service makes one from this and five random characters.' }),
    namespace: z.string().optional().meta({ description: 'The project; absent for kinds of the org.' }),
    labels: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'Keys and values that selectors can select by.' }),
    annotations: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'Keys and free values, at most 256 KiB together with labels.' }),
    uid: z.string().optional().meta({ description: 'Names this incarnation of the name. Set by the service.' }),
    resourceVersion: z
      .string()
      .optional()
      .meta({ description: 'Version of the object; increases with every change of anything. Set by the service.' }),
    generation: z
      .int()
      .optional()
      .meta({ format: 'int64', description: 'Increases with each change of spec. Set by the service.' }),
    creationTimestamp: zTimestamp('Set by the service.').optional(),
    deletionTimestamp: zTimestamp('When deletion was asked for. Set by the service.').optional(),
    deletionGracePeriodSeconds: z
      .int()
      .optional()
      .meta({ format: 'int64', description: 'Seconds that the work has to end after deletion was asked for.' }),
    finalizers: z
      .array(z.string())
      .nullish()
      .meta({ description: 'The object stays until this list is empty, once deletion was asked for.' }),
    ownerReferences: z.array(ownerReference).nullish().meta({ description: 'The objects that this one belongs to.' }),
    managedFields: z.array(managedFields).nullish().meta({ description: 'Who set which fields. Set by the service.' }),
    selfLink: z.string().optional().meta({ description: 'Not set; clients should not use it.' }),
  })
  .meta({ description: 'Standard metadata of an object.' });

/** Bytes of keys and values. */
function bytesOf(map: Readonly<Record<string, string>> | null | undefined): number {
  let size = 0;
  for (const key in map) size += Buffer.byteLength(key) + Buffer.byteLength(map[key] ?? '');
  return size;
}

/** A key is named in full up to what a cause may show. */
function named(key: string): string {
  return JSON.stringify(key.length <= 80 ? key : `${key.slice(0, 80)}…`);
}

function custom(input: unknown, path: readonly (string | number)[], message: string, reason = 'FieldValueInvalid') {
  return { code: 'custom' as const, message, input, path: [...path], params: { reason } };
}
