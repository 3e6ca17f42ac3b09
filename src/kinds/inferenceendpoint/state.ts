/** What an InferenceEndpoint keeps beside its status: who pays, and what the gateway has told of its model and its money. Pure. */
import type { ApiObject } from '../../api/object.js';
import type { Payer } from '../../money/payer.js';
import type { ObjectMessage } from '../object-message.js';

type Content<Type extends ObjectMessage['type']> = Extract<ObjectMessage, { type: Type }>;

export type ObservedModel = Omit<Content<'ModelObserved'>, 'type'>;
export type FundingRefusal = NonNullable<Content<'RequestsFunded'>['refusal']>;

export interface InferenceEndpointPrivate {
  /** Project and labels at the create: neither relabelling nor anything else moves what it costs to other Budgets. */
  readonly payer: Pick<Payer, 'project' | 'labels'>;
  /** Of the model that the spec names; absent: not known yet. */
  readonly model?: ObservedModel | undefined;
  /** Money refuses its requests. */
  readonly refusal?: FundingRefusal | undefined;
  /** The value of the cap of which it was told that it is reached. */
  readonly cappedAtUSD?: string | undefined;
  /** It was told that the balance or a Budget has too little left. */
  readonly fundingLost?: true | undefined;
}

export function firstState({ metadata }: ApiObject): InferenceEndpointPrivate {
  return { payer: { project: metadata.namespace ?? '', labels: metadata.labels ?? {} } };
}

/** Who pays for requests through the endpoint. `kept`: its stored private state, as the machine left it. */
export function payerOf(kept: unknown, object: ApiObject): Payer {
  // The machine alone writes it, with the create.
  const { payer } = (kept as InferenceEndpointPrivate | null | undefined) ?? firstState(object);
  const { uid, name, namespace: project = '' } = object.metadata;
  return { ...payer, costs: [{ uid, kind: 'InferenceEndpoint', project, name }] };
}
