/**
 * Owns the way of a client's write to its object's actor: a create is prepared and admitted first, since it needs no
 * current state; every other write is prepared by the actor itself.
 */
import type { Address } from '../src/api/address.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { Moment } from '../src/kinds/machine.js';
import { prepareCreate } from '../src/kinds/write/create.js';
import type { Clock, Responses } from '../storage/store.js';
import type { Admission } from './admission/admission.js';
import { isService } from './caller.js';
import type { Item } from './mailbox.js';
import type { OrgTurns } from './org-turns.js';
import { replay } from './resource/replay.js';
import type { WriteReply, WriteRequest } from './stage.js';

/** What a write needs on its way. */
export interface SubmitDeps {
  kindOf(name: string): KindDefinition | undefined;
  moment(): Moment;
  readonly admission: Admission;
  readonly turns: OrgTurns;
  deliver(address: Address, item: Item): boolean;
  readonly clock: Clock;
  readonly responses: Responses;
  /** What is not taken now, and why. */
  paused(): Pause | undefined;
}

export interface Pause {
  /** `Work`: objects that run something. */
  readonly what: 'Work' | 'AllObjects';
  readonly message: string;
}

const PAUSED_RETRY_SECONDS = 30;

/** A refusal at the door may be the echo of a create that this very key has made: then its stored answer is the answer. */
export async function submit(address: Address, request: WriteRequest, deps: SubmitDeps): Promise<WriteReply> {
  const reply = await send(address, request, deps);
  if (reply.outcome === 'Done' || request.verb !== 'create') return reply;
  return (await replay(address.org, request, deps.responses)) ?? reply;
}

async function send(address: Address, request: WriteRequest, deps: SubmitDeps): Promise<WriteReply> {
  const kind = deps.kindOf(address.kind);
  if (!kind) return { outcome: 'Refused', refusal: { code: 'NotFound', message: `no kind ${address.kind}` } };
  // What the rule has seen must still hold at the commit. A dry run is asked as well, and nothing comes of it.
  return kind.rule === undefined || isService(request.caller)
    ? carry(kind, address, request, deps)
    : deps.turns(address.org, () => carry(kind, address, request, deps));
}

async function carry(
  kind: KindDefinition,
  address: Address,
  request: WriteRequest,
  deps: SubmitDeps,
): Promise<WriteReply> {
  if (request.verb !== 'create') return ask(address, { item: 'write', request, since: deps.clock() }, deps);
  const pause = request.dryRun ? undefined : deps.paused();
  if (pause !== undefined && (pause.what === 'AllObjects' || kind.workPlan)) {
    const { message } = pause;
    return {
      outcome: 'Refused',
      refusal: { code: 'AdmissionsPaused', message, retryAfterSeconds: PAUSED_RETRY_SECONDS },
    };
  }
  const { fieldValidation, fieldManager, duplicates, dryRun, ifMatch } = request;
  const context = { moment: deps.moment(), fieldValidation, fieldManager, duplicates, dryRun, ifMatch };
  const prepared = prepareCreate(kind, address, request.body, context);
  if (prepared.outcome === 'Refused') return prepared;
  const leave = deps.admission.enter(address.org, address.project);
  try {
    const { object } = prepared;
    // The service makes children of the objects that ask for them, in their own projects.
    const ofService = isService(request.caller);
    const refusal =
      (await deps.admission.check(kind, address, object)) ??
      (ofService ? undefined : await deps.admission.owners(address, object)) ??
      (ofService
        ? undefined
        : await deps.admission.rule(kind, { org: address.org, by: request.caller, before: undefined, after: object }));
    if (refusal) return { outcome: 'Refused', refusal };
    const warnings = [...prepared.warnings, ...(await deps.admission.warnings(kind, object))];
    const warned = { ...prepared, warnings };
    return await ask(address, { item: 'write', request, prepared: warned, since: deps.clock() }, deps);
  } finally {
    leave();
  }
}

function ask(
  address: Address,
  item: Omit<Extract<Item, { item: 'write' }>, 'settle'>,
  deps: SubmitDeps,
): Promise<WriteReply> {
  return new Promise((resolve) => {
    if (deps.deliver(address, { ...item, settle: resolve })) return;
    const message = `${address.kind} "${address.name}" has too many requests waiting`;
    resolve({ outcome: 'Refused', refusal: { code: 'Unavailable', message, retryAfterSeconds: 1 } });
  });
}
