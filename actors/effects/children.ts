/**
 * Owns the effects by which an object makes and ends the objects that it owns: CreateChild, DeleteChild,
 * CollectChildren, CollectProject. Each goes through the child's own actor like anybody's write (I1).
 */
import { addressKey, type Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Letter } from '../../src/kinds/letter.js';
import { apiVersionOf } from '../../src/kinds/versions.js';
import type { Objects, StoredEffects } from '../../storage/store.js';
import type { DeleteOptions, ObjectPatch, WriteReply } from '../stage.js';
import { DONE, retry, type EffectOutcome } from './outcome.js';

export interface ChildrenDeps {
  readonly kinds: readonly KindDefinition[];
  readonly objects: Pick<Objects, 'ownedBy' | 'keys'>;
  read(address: Address): Promise<Buffer | undefined>;
  write(address: Address, request: ServiceWrite): Promise<WriteReply>;
  /** Resolves when no create is under way into the project. */
  quiet(org: string, project: string): Promise<void>;
  tell(row: StoredEffects, to: Address, uid: string | undefined, letter: Letter): Promise<EffectOutcome>;
}

/** A write of the service itself, before it is given the service's own caller. */
export type ServiceWrite =
  | { readonly verb: 'create'; readonly body: Record<string, unknown> }
  | { readonly verb: 'replace'; readonly body: Record<string, unknown> }
  | { readonly verb: 'patch'; readonly patch: ObjectPatch }
  | { readonly verb: 'delete'; readonly options: DeleteOptions };

/** Children asked for at once in one collection. */
const ABREAST = 32;
/** Children looked at in one pass: an org has fewer objects than this. */
const PASS_LIMIT = 200_000;
/** Children looked at when one of many has gone. */
const LOOK = 16;

type Effect<Type extends LaterEffect['type']> = Extract<LaterEffect, { type: Type }>;

export async function createChild(
  row: StoredEffects,
  effect: Effect<'CreateChild'>,
  deps: ChildrenDeps,
): Promise<EffectOutcome> {
  const owner = kindNamed(deps.kinds, row.address.kind);
  const kind = kindNamed(deps.kinds, effect.kind);
  const project = kind.scope === 'org' ? '' : (effect.project ?? row.address.project);
  const address: Address = { org: row.address.org, kind: effect.kind, project, name: effect.name };
  if (!(await stands(row, deps))) return DONE; // nobody would collect it
  const reply = await deps.write(address, {
    verb: 'create',
    body: {
      metadata: {
        name: effect.name,
        ...(effect.labels && { labels: effect.labels }),
        ...(effect.annotations && { annotations: effect.annotations }),
        ownerReferences: [
          {
            apiVersion: apiVersionOf(owner),
            kind: owner.kind,
            name: row.address.name,
            uid: row.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: effect.spec,
    },
  });
  if (reply.outcome === 'Done') {
    // The owner may have gone, and its children been collected, while this one was being made.
    if (await stands(row, deps)) return DONE;
    const { uid } = decodeObject(reply.body).metadata;
    return remove(address, { preconditions: { uid }, propagationPolicy: 'Background' }, deps);
  }
  if (reply.refusal.code !== 'AlreadyExists') return refusedAs(reply);
  const there = await deps.read(address);
  if (!there) return retry('the child went while it was being looked at');
  if (owns(row.uid, decodeObject(there))) return DONE; // made by an earlier run of this effect
  return { outcome: 'Failed', reason: 'AlreadyExists', message: `${effect.kind} "${effect.name}" belongs to another` };
}

async function stands(row: StoredEffects, deps: ChildrenDeps): Promise<boolean> {
  const owner = await deps.read(row.address);
  return owner !== undefined && decodeObject(owner).metadata.uid === row.uid;
}

export async function deleteChild(
  row: StoredEffects,
  effect: Effect<'DeleteChild'>,
  deps: ChildrenDeps,
): Promise<EffectOutcome> {
  const { org, project } = row.address;
  const options: DeleteOptions = { preconditions: { uid: effect.uid }, propagationPolicy: 'Background' };
  return remove({ org, kind: effect.kind, project, name: effect.name }, options, deps);
}

export async function collectChildren(
  row: StoredEffects,
  effect: Effect<'CollectChildren'>,
  deps: ChildrenDeps,
): Promise<EffectOutcome> {
  if (!effect.again) {
    const children = await deps.objects.ownedBy(row.address.org, effect.uid, PASS_LIMIT);
    if (children.length === 0) return effect.answer ? tellGone(row, deps) : DONE;
    const { unfinished } = await releaseAll(children, effect, deps);
    if (unfinished) return unfinished;
  }
  return effect.answer ? lookAgain(row, effect, deps) : DONE;
}

/**
 * An owner that waits hears of the end. While children are still going, each tells it when it is gone (`ChildGone`), and
 * it looks again: at a few only, so that the cost of N children is N looks of a fixed size. Those few are asked once
 * more, since one may have come after the others were asked; so whenever this ends with children left, one of them will
 * tell. A child that was only released tells nobody: then the next few are looked at.
 */
async function lookAgain(
  row: StoredEffects,
  effect: Effect<'CollectChildren'>,
  deps: ChildrenDeps,
): Promise<EffectOutcome> {
  let before: Address | undefined;
  for (;;) {
    const [first, ...rest] = await deps.objects.ownedBy(row.address.org, effect.uid, LOOK);
    if (!first) return tellGone(row, deps);
    if (before && addressKey(before) === addressKey(first)) return retry('the children do not let go of their owner');
    const { unfinished, going } = await releaseAll([first, ...rest], effect, deps);
    if (unfinished) return unfinished;
    if (going) return DONE;
    before = first;
  }
}

function tellGone(row: StoredEffects, deps: ChildrenDeps): Promise<EffectOutcome> {
  return deps.tell(row, row.address, row.uid, { letter: 'ChildrenGone' });
}

async function releaseAll(
  children: readonly Address[],
  effect: Effect<'CollectChildren'>,
  deps: ChildrenDeps,
): Promise<{ readonly unfinished: EffectOutcome | undefined; readonly going: boolean }> {
  let going = false;
  const unfinished = await abreast(children, async (child) => {
    const released = await release(child, effect, deps);
    going ||= released.going;
    return released.outcome;
  });
  return { unfinished, going };
}

/** A child with another owner left, or an orphaned one, only loses the reference; `going` is one that will tell its owner. */
async function release(
  child: Address,
  effect: Effect<'CollectChildren'>,
  deps: ChildrenDeps,
): Promise<{ readonly outcome: EffectOutcome; readonly going: boolean }> {
  const body = await deps.read(child);
  if (!body) return { outcome: DONE, going: false };
  const { metadata } = decodeObject(body);
  const others = (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== effect.uid);
  if (!effect.orphan && others.length === 0) {
    if (metadata.deletionTimestamp !== undefined) return { outcome: DONE, going: true };
    const propagationPolicy = effect.answer ? 'Foreground' : 'Background';
    const options: DeleteOptions = { preconditions: { uid: metadata.uid }, propagationPolicy };
    return { outcome: await remove(child, options, deps), going: true };
  }
  const patch = { metadata: { ownerReferences: others } };
  const reply = await deps.write(child, { verb: 'patch', patch: { type: 'merge', patch } });
  const away = reply.outcome === 'Done' || reply.refusal.code === 'NotFound';
  return { outcome: away ? DONE : refusedAs(reply), going: false };
}

export async function collectProject(
  row: StoredEffects,
  effect: Effect<'CollectProject'>,
  deps: ChildrenDeps,
): Promise<EffectOutcome> {
  const { org } = row.address;
  // No create is admitted into a project that is going; those admitted before are waited for.
  await deps.quiet(org, effect.project);
  let remaining = 0;
  for (const kind of deps.kinds) {
    if (kind.scope !== 'project' || kind.catalog) continue;
    const { keys } = await deps.objects.keys({ org, kind: kind.kind, project: effect.project });
    remaining += keys.length;
    const unfinished = await abreast(keys, ({ project, name }) =>
      remove({ org, kind: kind.kind, project, name }, { propagationPolicy: 'Background' }, deps),
    );
    if (unfinished) return unfinished;
  }
  return deps.tell(row, row.address, row.uid, { letter: 'ProjectCollected', project: effect.project, remaining });
}

async function remove(address: Address, options: DeleteOptions, deps: ChildrenDeps): Promise<EffectOutcome> {
  const reply = await deps.write(address, { verb: 'delete', options });
  if (reply.outcome === 'Done' || reply.refusal.code === 'NotFound') return DONE;
  // Another incarnation lives there now: the one that was meant is gone.
  if (reply.refusal.code === 'Conflict' && options.preconditions?.uid !== undefined) return DONE;
  return refusedAs(reply);
}

function refusedAs(reply: Extract<WriteReply, { outcome: 'Refused' }>): EffectOutcome {
  const { code, message } = reply.refusal;
  if (code === 'Unavailable' || code === 'InternalError' || code === 'Conflict') return retry(message);
  return { outcome: 'Failed', reason: code, message };
}

/** Runs all, a few side by side; the first outcome that is not done, if any. */
async function abreast<T>(
  items: readonly T[],
  run: (item: T) => Promise<EffectOutcome>,
): Promise<EffectOutcome | undefined> {
  let unfinished: EffectOutcome | undefined;
  for (let i = 0; i < items.length; i += ABREAST) {
    const outcomes = await Promise.all(items.slice(i, i + ABREAST).map(run));
    unfinished ??= outcomes.find(({ outcome }) => outcome !== 'Done');
  }
  return unfinished;
}

function owns(uid: string, child: ApiObject): boolean {
  return (child.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid);
}

function kindNamed(kinds: readonly KindDefinition[], name: string): KindDefinition {
  const kind = kinds.find((candidate) => candidate.kind === name);
  if (!kind) throw new Error(`no kind ${name}`);
  return kind;
}
