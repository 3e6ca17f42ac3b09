/**
 * Takes a client's write to its object's actor: a create is prepared and admitted first, since it needs no current state; every
 * other write is prepared by the actor itself.
 */
import type { Address } from '../src/api/address.js';
import type { ApiObject } from '../src/api/object.js';
import type { Refusal } from '../src/api/refusal.js';
import { obstruct } from '../src/kinds/estimate.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { DecisionContext } from '../src/kinds/machine.js';
import { prepareCreate } from '../src/kinds/write/create.js';
import type { PriceTags } from '../storage/envelope/price-tags.js';
import type { Clock, Responses } from '../storage/store.js';
import type { Admission, Verdict } from './admission/admission.js';
import type { Backlog } from './admission/backlog.js';
import type { KindCaps } from './admission/kind-caps.js';
import type { Pause } from './admission/pause.js';
import { isService } from './caller.js';
import type { Item } from './mailbox.js';
import type { OrgTurns } from './org-turns.js';
import { agreedRates, checkConsent, tagOf } from './price-consent.js';
import { replay } from './resource/replay.js';
import type { Caller, WriteReply, WriteRequest } from './resource-service.js';

/** What a write needs on its way. */
export interface SubmitDeps {
  kindOf(name: string): KindDefinition | undefined;
  decisionContext(): DecisionContext;
  readonly admission: Admission;
  readonly turns: OrgTurns;
  deliver(address: Address, item: Item): boolean;
  readonly clock: Clock;
  readonly responses: Responses;
  /** What is not taken from clients now, and why. */
  paused(): Pause | undefined;
  readonly backlog: Pick<Backlog, 'refusal'>;
  readonly kindCaps: KindCaps;
  /** Absent: no create can be bound to an estimate. */
  readonly priceTags?: PriceTags | undefined;
}

const PAUSED_RETRY_SECONDS = 30;

type CreateRequest = Extract<WriteRequest, { verb: 'create' }>;

export function submit(address: Address, request: WriteRequest, deps: SubmitDeps): Promise<WriteReply> {
  const kind = deps.kindOf(address.kind);
  if (!kind) {
    const refusal: Refusal = { code: 'NotFound', message: `no kind ${address.kind}` };
    return Promise.resolve({ outcome: 'Refused', refusal });
  }
  const send = (): Promise<WriteReply> =>
    request.verb === 'create'
      ? create(kind, address, request, deps)
      : ask(address, { item: 'write', request, since: deps.clock() }, deps);
  // What the rule has seen must still hold at the commit. A dry run is asked as well, and nothing comes of it.
  const reply = isRuled(kind, request.caller) ? deps.turns(address.org, send) : send();
  return request.verb === 'create' && request.idempotency ? orEcho(reply, address.org, request, deps) : reply;
}

/** A create may be refused because an earlier request with the same key has made the object: then that request's stored answer is given. */
async function orEcho(
  coming: Promise<WriteReply>,
  org: string,
  request: CreateRequest,
  deps: SubmitDeps,
): Promise<WriteReply> {
  const reply = await coming;
  return reply.outcome === 'Done' ? reply : ((await replay(org, request, deps.responses)) ?? reply);
}

async function create(
  kind: KindDefinition,
  address: Address,
  request: CreateRequest,
  deps: SubmitDeps,
): Promise<WriteReply> {
  /** Why no new work is taken now. A dry run shows it; a real create is refused with it. */
  const notNow =
    (isService(request.caller) ? undefined : refusalOfPause(kind, deps.paused())) ??
    deps.backlog.refusal(kind, address.org);
  if (notNow !== undefined && !request.dryRun) return { outcome: 'Refused', refusal: notNow };
  const { fieldValidation, fieldManager, duplicates, dryRun, ifMatch } = request;
  const context = { context: deps.decisionContext(), fieldValidation, fieldManager, duplicates, dryRun, ifMatch };
  const prepared = prepareCreate(kind, address, request.body, context);
  if (prepared.outcome === 'Refused') return prepared;
  const consent =
    ifMatch === undefined ? undefined : checkConsent(address.org, prepared.object, ifMatch, deps.priceTags);
  if (consent?.outcome === 'Refused') return consent;
  const work = kind.workPlan === undefined ? kind.pricedWork?.(prepared.object) : undefined;
  const agreed = consent && work && agreedRates(consent, work, context.context.prices);
  const room = await deps.kindCaps.enter(kind.kind, address.org);
  if (room.refusal !== undefined) {
    room.leave();
    return { outcome: 'Refused', refusal: room.refusal };
  }
  const leave = deps.admission.enter(address.org, address.project);
  try {
    for (const check of CHECKS) {
      const verdict = check(kind, address, prepared.object, request.caller, deps.admission);
      const refusal = verdict && (await verdict);
      if (refusal) return { outcome: 'Refused', refusal };
    }
    const neverFits = kind.asks ? await deps.admission.warnings(kind, prepared.object) : [];
    const named = kind.warnsOfReferences
      ? await deps.admission.referenceWarnings(kind, address, prepared.object, deps.clock())
      : [];
    const warnings = [...(kind.warnings?.(prepared.object) ?? []), ...named, ...neverFits];
    const warned =
      warnings.length === 0
        ? prepared
        : {
            ...prepared,
            object: obstruct(prepared.object, { neverFits }),
            warnings: [...prepared.warnings, ...warnings],
          };
    const given = notNow ? { ...warned, object: obstruct(warned.object, { refusals: [notNow] }) } : warned;
    const asked = agreed === undefined ? request : { ...request, agreed };
    const reply = await ask(address, { item: 'write', request: asked, prepared: given, since: deps.clock() }, deps);
    // Neither a pause nor a quota changes the price.
    const tag = dryRun ? tagOf(address.org, warned.object, deps.priceTags) : undefined;
    return tag === undefined || reply.outcome === 'Refused' ? reply : { ...reply, etag: tag };
  } finally {
    leave();
    room.leave();
  }
}

function refusalOfPause(kind: KindDefinition, pause: Pause | undefined): Refusal | undefined {
  if (pause === undefined || !(pause.what === 'AllObjects' || kind.pricedWork)) return undefined;
  return { code: 'AdmissionsPaused', message: pause.message, retryAfterSeconds: PAUSED_RETRY_SECONDS };
}

type Check = (kind: KindDefinition, address: Address, object: ApiObject, by: Caller, admission: Admission) => Verdict;

/** In this order. The service makes children of the objects that ask for them, in their own projects. */
const CHECKS: readonly Check[] = [
  (kind, address, object, _by, admission) => admission.check(kind, address, object),
  (_kind, address, object, by, admission) => (isService(by) ? undefined : admission.owners(address, object)),
  (kind, { org }, after, by, admission) =>
    isRuled(kind, by)
      ? admission.rule(kind, { org, by, byService: isService(by), before: undefined, after })
      : undefined,
];

function ask(
  address: Address,
  item: Omit<Extract<Item, { item: 'write' }>, 'settle'>,
  deps: SubmitDeps,
): Promise<WriteReply> {
  return new Promise((resolve) => {
    // What is new stands first: behind a spread it costs microseconds.
    if (deps.deliver(address, { settle: resolve, ...item })) return;
    const message = `${address.kind} "${address.name}" has too many requests waiting`;
    resolve({ outcome: 'Refused', refusal: { code: 'Unavailable', message, retryAfterSeconds: 1 } });
  });
}

function isRuled({ rule, rulesService }: KindDefinition, by: Caller): boolean {
  return rule !== undefined && (rulesService === true || !isService(by));
}
