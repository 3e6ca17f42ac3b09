/**
 * Carries out the effects that end many objects: CollectChildren (those that an object owns) and CollectProject (those in a
 * project). What is parked or busy is asked again until it has taken the request, since nothing else would collect it.
 *
 * I10: addresses are read a page at a time, and a few objects are asked side by side.
 */
import { addressKey, type Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ObjectMeta, OwnerReference } from '../../src/api/object.js';
import type { ObjectKey, StoredEffects } from '../../storage/store.js';
import { kindNamed, refusedAs, remove, stands, type ChildrenDeps } from './children.js';
import type { EffectOf, LaterEffectDefinition } from './definition.js';
import { DONE, retry, type EffectOutcome } from './outcome.js';

/** Objects asked side by side in one collection. */
const ABREAST = 32;
/** Objects read at once in one pass: their addresses are all that is held of them. */
const PAGE = 1_000;
/** Children looked at when one of many has gone. */
const LOOK = 16;
/** Objects above an owner that are looked at for a circle of owners; who makes a longer one waits for it. */
const MOST_ABOVE = 1_000;

export const collectChildrenEffect: LaterEffectDefinition<'CollectChildren', ChildrenDeps> = {
  pool: 'deletes',
  laneOf: () => 'children',
  run: collectChildren,
};

export const collectProjectEffect: LaterEffectDefinition<'CollectProject', ChildrenDeps> = {
  pool: 'deletes',
  laneOf: () => 'project',
  run: collectProject,
};

/**
 * Asks every child to go (or, orphaning, lets go of those that clients can manage without it). It is done only when each was asked: one that is parked or busy is
 * asked again, since nothing would collect it later.
 */
export async function collectChildren(
  row: StoredEffects,
  effect: EffectOf<'CollectChildren'>,
  deps: ChildrenDeps,
): Promise<EffectOutcome> {
  const collection: Collection = { row, effect, above: openAbove(row, deps), deps };
  if (!effect.again) {
    const outcomes = new Outcomes();
    let after: Address | undefined;
    for (let page: readonly Address[] | undefined; page === undefined || page.length === PAGE; after = page.at(-1)) {
      page = await deps.objects.ownedBy(row.address.org, effect.uid, PAGE, after);
      if (after === undefined && page.length === 0) return effect.answer ? tellGone(row, deps) : DONE;
      outcomes.add((await releaseAll(page, collection)).outcome);
    }
    if (outcomes.worst.outcome !== 'Done') return outcomes.worst;
  }
  return effect.answer ? lookAgain(collection) : DONE;
}

/** One run of one `CollectChildren`. */
interface Collection {
  readonly row: StoredEffects;
  readonly effect: EffectOf<'CollectChildren'>;
  readonly above: Above;
  readonly deps: ChildrenDeps;
}

/**
 * An owner that waits gets `ChildrenGone` at the end. While children are still going, each tells it when it is gone (`ChildGone`), and
 * it looks again: at a few only, so that the cost of N children is N looks of a fixed size. Those few are asked once
 * more, since one may have come after the others were asked; so whenever this ends with children left, one of them will
 * tell. A child that was only released tells no owner: then the next few are looked at.
 */
async function lookAgain(collection: Collection): Promise<EffectOutcome> {
  const { row, effect, deps } = collection;
  let before: Address | undefined;
  for (;;) {
    const [first, ...rest] = await deps.objects.ownedBy(row.address.org, effect.uid, LOOK);
    if (!first) return tellGone(row, deps);
    if (before && addressKey(before) === addressKey(first)) return retry('the children do not let go of their owner');
    const { outcome, going } = await releaseAll([first, ...rest], collection);
    if (outcome.outcome !== 'Done') return outcome;
    if (going) return DONE;
    before = first;
  }
}

function tellGone(row: StoredEffects, deps: ChildrenDeps): Promise<EffectOutcome> {
  return deps.tell(row, row.address, row.uid, { type: 'ChildrenGone' });
}

interface Released {
  readonly outcome: EffectOutcome;
  /** It is on its way out, and will tell its owner. */
  readonly going: boolean;
}

async function releaseAll(children: readonly Address[], collection: Collection): Promise<Released> {
  let going = false;
  const outcome = await abreast(children, async (child) => {
    const released = await release(child, collection);
    going ||= released.going;
    return released.outcome;
  });
  return { outcome, going };
}

/**
 * A child that keeps another owner, an orphaned one, and one that may not be deleted only lose the reference. One that no
 * client can delete is never orphaned: without its owner nobody could end it. The reference is lost as well by one that is asked to go and whose end its owner would never see: it waits for its owner itself, or its reference leads
 * elsewhere.
 */
async function release(child: Address, collection: Collection): Promise<Released> {
  const { row, effect, above, deps } = collection;
  const body = await deps.read(child);
  if (!body) return { outcome: DONE, going: false };
  const { metadata } = decodeObject(body);
  const others = (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== effect.uid);
  const orphaned = effect.orphan && isDeletable(child, deps);
  if (orphaned || others.length > 0) return letGo(child, others, deps);
  const waitedFor = !effect.answer || (leadsTo(row, child, metadata) && !(await above.has(metadata.uid)));
  if (metadata.deletionTimestamp === undefined) {
    const propagationPolicy = effect.answer && waitedFor ? 'Foreground' : 'Background';
    const asked = await remove(child, { preconditions: { uid: metadata.uid }, propagationPolicy }, deps);
    if (asked.outcome === 'Failed') return letGo(child, others, deps);
    if (asked.outcome !== 'Done') return { outcome: asked, going: false };
  }
  return waitedFor ? { outcome: DONE, going: true } : letGo(child, others, deps);
}

/** A client can delete objects of its kind. */
function isDeletable({ kind }: Address, { kinds }: ChildrenDeps): boolean {
  return kindNamed(kinds, kind).operations.has('delete');
}

async function letGo(child: Address, others: readonly OwnerReference[], deps: ChildrenDeps): Promise<Released> {
  const patch = { metadata: { ownerReferences: others } };
  const reply = await deps.write(child, { verb: 'patch', patch: { type: 'merge', patch } });
  const away = reply.outcome === 'Done' || reply.refusal.code === 'NotFound';
  return { outcome: away ? DONE : refusedAs(reply), going: false };
}

/** Whether the child's message at its end reaches this owner. */
function leadsTo({ address, uid }: StoredEffects, child: Address, { ownerReferences = [] }: ObjectMeta): boolean {
  if (address.project !== '' && address.project !== child.project) return false;
  return ownerReferences.some(
    (owner) => owner.uid === uid && owner.kind === address.kind && owner.name === address.name,
  );
}

/** The object itself, its owners, theirs, and so on: a child among them waits for the object that waits for it. */
interface Above {
  has(uid: string): Promise<boolean>;
}

function openAbove({ address, uid }: StoredEffects, deps: ChildrenDeps): Above {
  async function climb(): Promise<ReadonlySet<string>> {
    const seen = new Set([uid]);
    const waiting = [{ address, uid }];
    for (let next = waiting.pop(); next && seen.size < MOST_ABOVE; next = waiting.pop()) {
      const body = await deps.read(next.address);
      const metadata = body && decodeObject(body).metadata;
      if (metadata?.uid !== next.uid) continue;
      for (const owner of metadata.ownerReferences ?? []) {
        if (seen.has(owner.uid)) continue;
        seen.add(owner.uid);
        const kind = deps.kinds.find((candidate) => candidate.kind === owner.kind);
        const project = kind?.scope === 'org' ? '' : next.address.project;
        waiting.push({ address: { org: address.org, kind: owner.kind, project, name: owner.name }, uid: owner.uid });
      }
    }
    return seen;
  }
  let climbed: Promise<ReadonlySet<string>> | undefined;
  return { has: async (sought) => (await (climbed ??= climb())).has(sought) };
}

export async function collectProject(
  row: StoredEffects,
  effect: EffectOf<'CollectProject'>,
  deps: ChildrenDeps,
): Promise<EffectOutcome> {
  const { org } = row.address;
  // Carried out again after a crash, it may find that another project has the name by now.
  if (!(await stands(row, deps))) return DONE;
  // No create is admitted into a project that is going; those admitted before are waited for.
  await deps.quiet(org, effect.project);
  let remaining = 0;
  const outcomes = new Outcomes();
  for (const { kind, scope, catalog } of deps.kinds) {
    if (scope !== 'project' || catalog) continue;
    let after: ObjectKey | undefined;
    for (let page: readonly ObjectKey[] | undefined; page === undefined || page.length === PAGE; after = page.at(-1)) {
      page = (await deps.objects.keys({ org, kind, project: effect.project, after, limit: PAGE })).keys;
      remaining += page.length;
      const asked = abreast(page, ({ project, name }) =>
        remove({ org, kind, project, name }, { propagationPolicy: 'Background' }, deps),
      );
      outcomes.add(await asked);
    }
  }
  // What is parked keeps its project: the others have been asked.
  if (outcomes.worst.outcome !== 'Done') return outcomes.worst;
  // I12: before the name is free. Nothing is left that would store another.
  if (remaining === 0) await deps.forgetBlobs(org, effect.project);
  return deps.tell(row, row.address, row.uid, { type: 'ProjectCollected', project: effect.project, remaining });
}

/** Runs all, a few side by side, and answers the worst that came of them. */
async function abreast<T>(items: readonly T[], run: (item: T) => Promise<EffectOutcome>): Promise<EffectOutcome> {
  const outcomes = new Outcomes();
  for (let i = 0; i < items.length; i += ABREAST) {
    for (const outcome of await Promise.all(items.slice(i, i + ABREAST).map(run))) outcomes.add(outcome);
  }
  return outcomes.worst;
}

/** What is tried again soonest comes first: it must not be lost behind what waits, nor either behind what has failed for good. */
const WORST = ['Retry', 'Wait', 'Failed', 'Done'] as const;

class Outcomes {
  worst: EffectOutcome = DONE;

  add(outcome: EffectOutcome): void {
    if (WORST.indexOf(outcome.outcome) < WORST.indexOf(this.worst.outcome)) this.worst = outcome;
  }
}
