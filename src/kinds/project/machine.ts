/**
 * The life of a project: born with ServiceAccount `default`, and gone only when nothing is left in it.
 *
 * Deletion: a finalizer holds the object while passes of `CollectProject` ask for the deletion of what is there and count
 * what remains. Each answer either ends it (nothing remains) or arms the next pass, so a pass that is lost, repeated or
 * overtaken by a late create does no harm. A client cannot take the finalizer away. It goes once nothing remains and does not come
 * back, however long the finalizers of others still hold the object.
 */
import { API_GROUP, CATALOG_PROJECT } from '../../brand.js';
import { setCondition } from '../../api/conditions.js';
import { checkLabelName } from '../../api/names.js';
import type { Effect } from '../effect.js';
import type { Current, Machine, DecisionContext } from '../machine.js';
import { IGNORED, next, plain, type PlainDecision, refused } from '../plain-machine.js';
import { DEFAULT_SERVICE_ACCOUNT } from '../serviceaccount/index.js';
import type { NamespaceSpec, NamespaceStatus } from './schema.js';

type Here = Current<NamespaceSpec, NamespaceStatus, undefined>;

export const DEFAULT_PROJECT = 'default';
export const CONTENT_FINALIZER = `${API_GROUP}/project-content`;

const STAYS = 'Delete the objects in it instead, kind by kind; the namespace itself stays, and no scope changes that.';
const COLLECT = 'collect';
/** Long enough for running work to take its SIGTERM, short enough to watch. */
const NEXT_PASS_MS = 1000;

function isHeld({ metadata }: Here['object']): boolean {
  return metadata.finalizers?.includes(CONTENT_FINALIZER) === true;
}

function held({ object }: Here): readonly string[] {
  const finalizers = object.metadata.finalizers ?? [];
  return isHeld(object) ? finalizers : [...finalizers, CONTENT_FINALIZER];
}

/** A client may have taken the finalizer away. One under deletion that was without it before has been proven empty. */
function update(here: Here, before: Here['object']): PlainDecision<NamespaceStatus> {
  const { status, metadata } = here.object;
  const isEmpty = metadata.deletionTimestamp !== undefined && !isHeld(before);
  return next<NamespaceStatus>(status, isEmpty ? {} : { finalizers: held(here) });
}

function remove(here: Here, pass: Effect): PlainDecision<NamespaceStatus> {
  const { status } = here.object;
  // Asked for again; a deletion takes no finalizer of the service away, so it has been proven empty.
  if (status.phase === 'Terminating' && !isHeld(here.object)) return next<NamespaceStatus>(status);
  return next<NamespaceStatus>({ ...status, phase: 'Terminating' }, { finalizers: held(here), effects: [pass] });
}

function forbidden(name: string, what: string, fix: string): PlainDecision<NamespaceStatus> {
  return refused({ code: 'Forbidden', message: `namespaces "${name}" is forbidden: ${what}`, fix });
}

function create(here: Here): PlainDecision<NamespaceStatus> {
  const { address, object } = here;
  const complaint = checkLabelName(address.name);
  if (complaint !== undefined) {
    const causes = [{ field: 'metadata.name', message: complaint, reason: 'FieldValueInvalid' }];
    return refused({ code: 'Invalid', message: `Namespace "${address.name}" is invalid: ${complaint}`, causes });
  }
  const status: NamespaceStatus = { ...object.status, phase: 'Active' };
  // The catalog holds no work, so nothing acts in it.
  if (address.name === CATALOG_PROJECT) return next<NamespaceStatus>(status);
  const account: Effect = {
    type: 'CreateChild',
    kind: 'ServiceAccount',
    name: DEFAULT_SERVICE_ACCOUNT,
    project: address.name,
    spec: { description: 'Identity of work that names no other.' },
  };
  return next<NamespaceStatus>(status, { finalizers: held(here), effects: [account] });
}

function collected(here: Here, remaining: number, context: DecisionContext): PlainDecision<NamespaceStatus> {
  const { metadata, status: before } = here.object;
  if (metadata.deletionTimestamp === undefined) return IGNORED;
  const condition =
    remaining === 0
      ? { status: 'False' as const, reason: 'ContentRemoved', message: '' }
      : {
          status: 'True' as const,
          reason: 'SomeResourcesRemain',
          message: `${remaining} objects are still in the project`,
        };
  const conditions = setCondition(before.conditions, { type: 'ContentRemaining', ...condition }, context.now);
  const status: NamespaceStatus = { ...before, phase: 'Terminating', conditions: [...conditions] };
  if (remaining > 0) {
    return next<NamespaceStatus>(status, {
      effects: [{ type: 'ArmTimer', timer: COLLECT, at: context.now + NEXT_PASS_MS }],
    });
  }
  const finalizers = (metadata.finalizers ?? []).filter((name) => name !== CONTENT_FINALIZER);
  const gone: readonly Effect[] = finalizers.length === 0 ? [{ type: 'DeleteSelf' }] : [];
  return next<NamespaceStatus>(status, { finalizers, effects: gone });
}

export const namespaceMachine: Machine<NamespaceSpec, NamespaceStatus, undefined, undefined, never> = {
  decide(current, _side, message, context) {
    const { address, object } = current;
    const isCatalog = address.name === CATALOG_PROJECT;
    const pass: Effect = { type: 'CollectProject', project: address.name };
    const isGoing = object.metadata.deletionTimestamp !== undefined;
    switch (message.type) {
      case 'Created':
        return create(current);
      case 'Updated':
        if (isCatalog) return forbidden(address.name, 'the catalog is read-only', 'Write into a project of your own.');
        return update(current, message.before);
      case 'DeletionRequested':
        if (isCatalog || address.name === DEFAULT_PROJECT) {
          return forbidden(address.name, 'this namespace may not be deleted', STAYS);
        }
        return remove(current, pass);
      case 'Activated':
        return isGoing && isHeld(object) ? next<NamespaceStatus>(object.status, { effects: [pass] }) : IGNORED;
      case 'MessageReceived':
        return message.content.type === 'ProjectCollected'
          ? collected(current, message.content.remaining, context)
          : IGNORED;
      case 'TimerFired':
        return isGoing && message.timer === COLLECT
          ? next<NamespaceStatus>(object.status, { effects: [pass] })
          : IGNORED;
      case 'EffectFailed':
        if (!isGoing || message.effect.type !== 'CollectProject') return IGNORED;
        return next<NamespaceStatus>(object.status, {
          effects: [{ type: 'ArmTimer', timer: COLLECT, at: context.now + NEXT_PASS_MS }],
        });
      default:
        return plain(current, message);
    }
  },
  isTerminal: (status) => status.phase !== 'Terminating',
};
