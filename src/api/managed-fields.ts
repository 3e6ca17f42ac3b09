/**
 * `metadata.managedFields`: who set which field, as Kubernetes tracks it for updates. One entry per manager and
 * operation; its `fieldsV1` is a tree of `f:<member>` in which lists are leaves; labels and annotations are tracked by
 * key (`.` stands for the map itself), finalizers by value (`v:"…"`), owners by uid (`k:{"uid":"…"}`). Who changes a field
 * takes it from all others. Writes of the service to `status` are not tracked: they would be most of all commits.
 *
 * Trees are never changed in place; parts that stay are shared. Entries are bounded (I10): the oldest are folded into
 * one entry of `ancient-changes`.
 */
import type { ManagedFieldsEntry, ObjectMeta } from './object.js';
import { isObject } from './safe-value.js';
import { rfc3339 } from './time.js';

/** As in Kubernetes. */
export const MAX_ENTRIES = 10;
const ANCIENT = 'ancient-changes';

export interface Writer {
  readonly manager: string;
  readonly apiVersion: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What managers can own: the parts of an object that clients write. */
export interface Owned {
  readonly metadata: Pick<ObjectMeta, 'labels' | 'annotations' | 'finalizers' | 'ownerReferences'>;
  readonly spec: unknown;
}

interface Tree {
  readonly [key: string]: Tree;
}

type Growing = Record<string, Tree>;

const LEAF: Tree = Object.freeze({});
const NOTHING: Owned = { metadata: {}, spec: undefined };

export function manageCreate(writer: Writer, created: Owned): readonly ManagedFieldsEntry[] {
  const { set } = changesBetween(NOTHING, created);
  return set === undefined ? [] : [entryOf(writer, set)];
}

/** The same array when the write changed no field. */
export function manageUpdate(
  entries: readonly ManagedFieldsEntry[] | undefined,
  writer: Writer,
  before: Owned,
  after: Owned,
): readonly ManagedFieldsEntry[] {
  const { set, gone } = changesBetween(before, after);
  if (set === undefined && gone === undefined) return entries ?? [];
  const kept: ManagedFieldsEntry[] = [];
  let own: Tree | undefined;
  for (const entry of entries ?? []) {
    // The trees in stored entries are ours; whatever else stood there would be dropped as empty.
    const stored = asTree(entry.fieldsV1);
    const isOwn = entry.manager === writer.manager && entry.operation === 'Update' && entry.subresource === undefined;
    const left = subtract(subtract(stored, gone), isOwn ? undefined : set);
    if (isOwn) own = union(own, left);
    else if (left === stored) kept.push(entry);
    else if (left !== undefined) kept.push({ ...entry, fieldsV1: left });
  }
  const mine = union(own, set);
  if (mine !== undefined) kept.push(entryOf(writer, mine));
  return capped(kept);
}

function entryOf(writer: Writer, fields: Tree): ManagedFieldsEntry {
  return {
    manager: writer.manager,
    operation: 'Update',
    apiVersion: writer.apiVersion,
    time: rfc3339(writer.now),
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
  };
}

interface Changes {
  /** Fields that were added or changed. */
  readonly set: Tree | undefined;
  /** Fields that went. */
  readonly gone: Tree | undefined;
}

/** Collects what differs at one level. */
class Level {
  set: Growing | undefined;
  gone: Growing | undefined;

  put(key: string, changes: Changes): void {
    if (changes.set !== undefined) (this.set ??= {})[key] = changes.set;
    if (changes.gone !== undefined) (this.gone ??= {})[key] = changes.gone;
  }
}

const SAME: Changes = { set: undefined, gone: undefined };
const SET_LEAF: Changes = { set: LEAF, gone: undefined };
const GONE_LEAF: Changes = { set: undefined, gone: LEAF };

function changesBetween(before: Owned, after: Owned): Changes {
  const metadata = new Level();
  const [old, next] = [before.metadata, after.metadata];
  metadata.put('f:labels', compareMaps(old.labels, next.labels));
  metadata.put('f:annotations', compareMaps(old.annotations, next.annotations));
  metadata.put(
    'f:finalizers',
    compareSets(old.finalizers, next.finalizers, (name) => `v:${JSON.stringify(name)}`),
  );
  metadata.put(
    'f:ownerReferences',
    compareSets(ownerIds(old), ownerIds(next), (uid) => `k:${JSON.stringify({ uid })}`),
  );
  const all = new Level();
  all.put('f:metadata', metadata);
  all.put('f:spec', compare(before.spec, after.spec));
  return { set: all.set, gone: all.gone };
}

function ownerIds(metadata: Owned['metadata']): readonly string[] | undefined {
  return metadata.ownerReferences?.map((owner) => owner.uid);
}

function compareMaps(
  before: Readonly<Record<string, string>> | undefined,
  after: Readonly<Record<string, string>> | undefined,
): Changes {
  if (before === after) return SAME;
  if (after === undefined) return GONE_LEAF;
  const level = new Level();
  if (before === undefined) level.put('.', SET_LEAF);
  compareMembers(level, before ?? {}, after);
  return level;
}

function compareSets(
  before: readonly string[] | undefined,
  after: readonly string[] | undefined,
  keyOf: (value: string) => string,
): Changes {
  if (before === after) return SAME;
  if (after === undefined) return GONE_LEAF;
  const level = new Level();
  if (before === undefined) level.put('.', SET_LEAF);
  for (const value of after) if (before?.includes(value) !== true) level.put(keyOf(value), SET_LEAF);
  for (const value of before ?? []) if (!after.includes(value)) level.put(keyOf(value), GONE_LEAF);
  return level;
}

function compare(before: unknown, after: unknown): Changes {
  if (before === after) return SAME;
  if (after === undefined) return GONE_LEAF;
  if (isObject(after)) {
    if (before === undefined) return { set: treeOf(after), gone: undefined };
    if (isObject(before)) {
      const level = new Level();
      compareMembers(level, before, after);
      return level;
    }
    // What changes between leaf and object goes as a whole and is set anew.
    return { set: treeOf(after), gone: LEAF };
  }
  if (isObject(before)) return { set: LEAF, gone: LEAF };
  return Array.isArray(after) && sameList(before, after) ? SAME : SET_LEAF;
}

function compareMembers(
  level: Level,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): void {
  for (const key in after) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    if (old !== after[key]) level.put(fieldKey(key), compare(old, after[key]));
  }
  for (const key in before) {
    if (before[key] !== undefined && (!Object.hasOwn(after, key) || after[key] === undefined)) {
      level.put(fieldKey(key), GONE_LEAF);
    }
  }
}

/** Lists are leaves, so their text decides. */
function sameList(before: unknown, after: readonly unknown[]): boolean {
  return Array.isArray(before) && before.length === after.length && JSON.stringify(before) === JSON.stringify(after);
}

function treeOf(value: Readonly<Record<string, unknown>>): Tree {
  let tree: Growing | undefined;
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    (tree ??= {})[fieldKey(key)] = isObject(member) ? treeOf(member) : LEAF;
  }
  return tree ?? LEAF;
}

/** `f:` keys are the same few hundred strings for ever; making them anew costs more than finding them. */
const keys = new Map<string, string>();
const MAX_KEYS = 4096;

function fieldKey(key: string): string {
  const known = keys.get(key);
  if (known !== undefined) return known;
  // Free keys of clients could fill it: then it starts anew (I10).
  if (keys.size >= MAX_KEYS) keys.clear();
  const made = `f:${key}`;
  keys.set(key, made);
  return made;
}

function isLeaf(tree: Tree): boolean {
  for (const _ in tree) return false;
  return true;
}

/** Undefined for nothing at all; a leaf in `minus` takes the whole subtree, and a nested one takes a leaf. */
function subtract(tree: Tree | undefined, minus: Tree | undefined): Tree | undefined {
  if (tree === undefined || minus === undefined) return tree;
  let left: Growing | undefined;
  for (const key in minus) {
    const child = tree[key];
    const less = minus[key];
    if (child === undefined || less === undefined) continue;
    const rest = isLeaf(less) || isLeaf(child) ? undefined : subtract(child, less);
    if (rest === child) continue;
    left ??= { ...tree };
    if (rest === undefined) delete left[key];
    else left[key] = rest;
  }
  if (left === undefined) return tree;
  return isLeaf(left) || onlyMapItself(left) ? undefined : left;
}

/** A manager that owns no key of a map any more does not own the map either. */
function onlyMapItself(tree: Tree): boolean {
  for (const key in tree) if (key !== '.') return false;
  return true;
}

function union(tree: Tree | undefined, plus: Tree | undefined): Tree | undefined {
  if (tree === undefined || plus === undefined || tree === plus) return tree ?? plus;
  const both: Growing = { ...tree };
  for (const key in plus) {
    const merged = union(tree[key], plus[key]);
    if (merged !== undefined) both[key] = merged;
  }
  return both;
}

function capped(entries: readonly ManagedFieldsEntry[]): readonly ManagedFieldsEntry[] {
  if (entries.length <= MAX_ENTRIES) return entries;
  const byAge = entries.toSorted((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0));
  const young = byAge.slice(entries.length - MAX_ENTRIES + 1);
  const old = byAge.slice(0, entries.length - MAX_ENTRIES + 1);
  const [first] = old;
  if (first === undefined) return young;
  let fields: Tree | undefined;
  for (const entry of old) fields = union(fields, asTree(entry.fieldsV1));
  return [{ ...first, manager: ANCIENT, operation: 'Update', fieldsV1: fields ?? LEAF }, ...young];
}

function asTree(fields: Record<string, unknown>): Tree | undefined {
  return isTree(fields) ? fields : undefined;
}

function isTree(value: unknown): value is Tree {
  return isObject(value);
}
