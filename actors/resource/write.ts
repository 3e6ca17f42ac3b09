/**
 * Carries out a client's write on its object, from the queued request to the answer: create, replace, patch, delete.
 * The generic half (merge, validation, metadata) is `src/kinds/write`; the kind's half is its machine; this is the order
 * of the two, the commit, and what is answered. Each write gets a commit of its own.
 */
import { encodeObject, stampVersion } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import { groupOf } from '../../src/kinds/versions.js';
import type { Refusal } from '../../src/api/refusal.js';
import type { Message } from '../../src/kinds/machine.js';
import { preparePatch } from '../../src/kinds/write/patch.js';
import { prepareRemove } from '../../src/kinds/write/remove.js';
import { prepareReplace } from '../../src/kinds/write/replace.js';
import type { Prepared, WriteContext } from '../../src/kinds/write/prepared.js';
import type { IdempotencyWrite } from '../../storage/commit/request.js';
import { isService } from '../caller.js';
import type { WriteReply, WriteRequest } from '../resource-service.js';
import { applyMessage, openDraft, type Draft } from './draft.js';
import { load, type Present } from './incarnation.js';
import { begins } from '../admission/backlog.js';
import { notFound, refusalOf } from './commit-refusals.js';
import { roomForFirstChild } from './first-child.js';
import { rehearse } from './rehearse.js';
import { replay } from './replay.js';
import type { ActorDeps, Self } from './self.js';
import { commitDraft } from './commit-draft.js';

export async function handleWrite(
  self: Self,
  request: WriteRequest,
  prepared: Prepared | undefined,
  deps: ActorDeps,
): Promise<WriteReply> {
  const reply = prepared ? await create(self, request, prepared, deps) : await change(self, request, deps);
  // A refusal may be the echo of a write that this very key has already made: then its stored answer is the answer.
  if (reply.outcome === 'Refused' && request.idempotency)
    return (await replay(self.address.org, request, deps.responses)) ?? reply;
  return reply;
}

async function create(self: Self, request: WriteRequest, prepared: Prepared, deps: ActorDeps): Promise<WriteReply> {
  // An unknown address is not read first: the insert itself finds out whether it is taken. A rehearsal has no insert.
  if (self.state.at === 'Unknown' && request.dryRun) self.state = await load(self.address, self.kind, deps);
  if (self.state.at === 'Present' || deps.cache.get(self.address)) {
    return refused(refusalOf({ outcome: 'AlreadyExists' }, self.address));
  }
  const draft = openDraft(self.address, 0, prepared.object, undefined, self.kind.machine.sideState?.open([]));
  const payer = request.verb === 'create' && isService(request.caller) ? request.payer : undefined;
  const agreed = request.verb === 'create' ? request.agreed : undefined;
  return finish(self, request, draft, { type: 'Created', by: request.caller, payer, agreed }, prepared.warnings, deps);
}

async function change(self: Self, request: WriteRequest, deps: ActorDeps): Promise<WriteReply> {
  if (self.state.at === 'Unknown') self.state = await load(self.address, self.kind, deps);
  const present = self.state;
  if (present.at !== 'Present') return refused(notFound(self.address));
  if (request.verb === 'action') return act(self, present, request, deps);
  const step = prepareChange(self, present, request, deps);
  if (step.outcome === 'Refused') return refused(step.refusal);
  if (!step.changed) {
    return unchanged(self, present, request, step.warnings, deps);
  }
  if (step.specChanged) {
    const named = deps.admit(self.kind, self.address, step.object, present.object);
    const refusal = named && (await named);
    if (refusal) return refused(refusal);
    const tooMuch = begins(present.object.spec, step.object.spec)
      ? deps.backlog.refusal(self.kind, self.address.org)
      : undefined;
    if (tooMuch) return refused(tooMuch);
  }
  const owners = deps.admitOwners(self.address, step.object, present.object);
  const stray = owners && (await owners);
  if (stray) return refused(stray);
  if (self.kind.rule && !isService(request.caller)) {
    const after = request.verb === 'delete' ? undefined : step.object;
    const alongside = request.verb === 'delete' ? request.alongside : undefined;
    const { org } = self.address;
    const refusal = await deps.rule(self.kind, { org, by: request.caller, before: present.object, after, alongside });
    if (refusal) return refused(refusal);
  }
  const warnings =
    step.specChanged && self.kind.warnsOfReferences
      ? await deps.referenceWarnings(self.kind, self.address, step.object, deps.decisionContext().now)
      : [];
  const draft = openDraft(self.address, present.version, step.object, present.private, present.sideState);
  const message: Message =
    request.verb === 'delete'
      ? { type: 'DeletionRequested', by: request.caller }
      : { type: 'Updated', before: present.object, by: request.caller };
  return finish(self, request, draft, message, [...step.warnings, ...warnings], deps);
}

function act(
  self: Self,
  present: Present,
  request: Extract<WriteRequest, { verb: 'action' }>,
  deps: ActorDeps,
): Promise<WriteReply> {
  const draft = openDraft(self.address, present.version, present.object, present.private, present.sideState);
  const { action, input, caller } = request;
  const called = self.kind.actions?.find((each) => each.action === action);
  const warnings = called?.warnings?.(present.object, deps.decisionContext().now) ?? [];
  return finish(self, request, draft, { type: 'Action', action, input, by: caller }, warnings, deps);
}

function prepareChange(
  self: Self,
  present: Present,
  request: Exclude<WriteRequest, { verb: 'action' }>,
  deps: ActorDeps,
) {
  const context: WriteContext = {
    context: deps.decisionContext(),
    fieldValidation: request.fieldValidation,
    fieldManager: request.fieldManager,
    ifMatch: request.ifMatch,
    duplicates: request.duplicates,
    currentVersion: present.version,
    dryRun: request.dryRun,
  };
  switch (request.verb) {
    case 'replace':
      return prepareReplace(self.kind, present.object, request.body, context);
    case 'patch':
      return preparePatch(self.kind, present.object, request.patch, context);
    case 'delete':
      return prepareRemove(self.kind, present.object, request.options, context);
    case 'create':
      throw new Error('a create comes prepared');
  }
}

async function finish(
  self: Self,
  request: WriteRequest,
  draft: Draft,
  message: Message,
  warnings: readonly string[],
  deps: ActorDeps,
): Promise<WriteReply> {
  const status = statusOf(self, request);
  const refusal = applyMessage(draft, self.kind, message, deps.decisionContext());
  if (refusal) {
    // The machine may have touched its side state before it refused: what is committed is read again.
    if (draft.sideState !== undefined) self.state = { at: 'Unknown' };
    const { kind, name } = self.address;
    return refused({ target: { kind, name, group: groupOf(self.kind) }, ...refusal });
  }
  if (message.type === 'Created') draft.atCommit.push(...roomForFirstChild(self.kind, draft, deps.decisionContext()));
  if (request.dryRun) {
    draft.object = await rehearse(draft, deps);
    return rehearsed(self, draft, status, warnings);
  }
  const key = request.idempotency;
  const settled = await commitDraft(self, draft, deps, key && keyed(request, key, draft, status));
  switch (settled.outcome) {
    case 'Written': {
      // What is revealed is shown in this one answer; an action that changed nothing else still shows it.
      const body = draft.reveal ? stampVersion(encodeObject(revealed(draft)), settled.version) : settled.body;
      return { outcome: 'Done', status, body, etag: String(settled.version), warnings };
    }
    case 'Unchanged':
      return self.state.at === 'Present'
        ? unchanged(self, self.state, request, warnings, deps)
        : refused(notFound(self.address));
    case 'KeyUsed':
      return echo(self, request, deps);
    default: {
      const no = refused(refusalOf(settled, self.address, draft.object.metadata.uid));
      return { ...no, ...(settled.outcome === 'HoldRefused' && { shortfall: settled }) };
    }
  }
}

function statusOf(self: Self, request: WriteRequest): number {
  switch (request.verb) {
    case 'create':
      return 201;
    case 'action':
      return self.kind.actions?.find(({ action }) => action === request.action)?.status ?? 200;
    default:
      return 200;
  }
}

/** A dry run shows what would have been stored, and leaves no trace: not in storage, not in the actor. */
function rehearsed(self: Self, draft: Draft, status: number, warnings: readonly string[]): WriteReply {
  const version = self.state.at === 'Present' ? self.state.version : 0;
  if (draft.sideState !== undefined) self.state = { at: 'Unknown' };
  const body =
    version === 0 ? Buffer.from(JSON.stringify(draft.object)) : stampVersion(encodeObject(draft.object), version);
  const etag = `dry-run-${draft.object.metadata.uid}`;
  return { outcome: 'Done', status, body, etag, warnings };
}

/** The object with what is shown this once: a key's or a token's value. It is stored nowhere but in a sealed replay. */
function revealed(draft: Draft): ApiObject {
  return { ...draft.object, status: { ...(draft.object.status as object), ...draft.reveal } };
}

function keyed(
  request: WriteRequest,
  key: { readonly key: string; readonly fingerprint: string },
  draft: Draft,
  status: number,
): IdempotencyWrite {
  return {
    holder: request.caller.holder,
    key: key.key,
    fingerprint: key.fingerprint,
    status,
    response: draft.reveal && encodeObject(revealed(draft)),
    headers: {},
  };
}

/**
 * What changes nothing is answered with what stands there, and its key is kept all the same: sent again after another client
 * else's write it would change something. And it may itself be the echo of what this very key has changed before.
 */
async function unchanged(
  self: Self,
  { body, version }: Present,
  request: WriteRequest,
  warnings: readonly string[],
  deps: ActorDeps,
): Promise<WriteReply> {
  const { idempotency, caller, dryRun } = request;
  if (idempotency && !dryRun) {
    const write = { ...idempotency, holder: caller.holder, status: 200, response: body, headers: {} };
    const kept = await deps.committer.keepAnswer(self.address.org, write, version);
    if (kept.outcome === 'KeyUsed') return echo(self, request, deps);
    if (kept.outcome === 'Fenced') {
      deps.onFenced();
      return refused(refusalOf(kept, self.address));
    }
  }
  return { outcome: 'Done', status: 200, body, etag: String(version), warnings };
}

/** The key is taken: its stored answer is the answer. */
async function echo(self: Self, request: WriteRequest, deps: ActorDeps): Promise<WriteReply> {
  const stored = await replay(self.address.org, request, deps.responses);
  return stored ?? refused(refusalOf({ outcome: 'Stale' }, self.address));
}

function refused(refusal: Refusal): WriteReply {
  return { outcome: 'Refused', refusal };
}
