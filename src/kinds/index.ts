/** The lists of kinds: those of the interface, and those that are stored. A kind that is in none does not exist. */
import { agentKind } from './agent/index.js';
import { agentGroupKind } from './agentgroup/index.js';
import { agentRunKind } from './agentrun/index.js';
import { apiKeyKind } from './apikey/index.js';
import { budgetKind } from './budget/index.js';
import { connectionKind } from './connection/index.js';
import { enrollmentTokenKind } from './enrollmenttoken/index.js';
import { functionKind } from './function/index.js';
import { functionCallKind } from './functioncall/index.js';
import { imageKind } from './image/index.js';
import { jobKind } from './job/index.js';
import { modelKind } from './model/index.js';
import { sandboxKind } from './sandbox/index.js';
import { trainingJobKind } from './trainingjob/index.js';
import { volumeKind } from './volume/index.js';
import { webhookEndpointKind } from './webhookendpoint/index.js';
import { workspaceKind } from './workspace/index.js';
import { appKind } from './app/index.js';
import { attemptKind } from './attempt/index.js';
import { cloudAccountKind } from './cloudaccount/index.js';
import { creditGrantKind } from './creditgrant/index.js';
import { environmentKind } from './environment/index.js';
import { inferenceEndpointKind } from './inferenceendpoint/index.js';
import type { KindDefinition } from './kind.js';
import { memberKind } from './member/index.js';
import { nodeKind } from './node/index.js';
import { offeringKind } from './offering/index.js';
import { pipelineKind } from './pipeline/index.js';
import { poolKind } from './pool/index.js';
import { poolActionKind } from './poolaction/index.js';
import { namespaceKind } from './project/index.js';
import { secretKind } from './secret/index.js';
import { serviceAccountKind } from './serviceaccount/index.js';
import { sweepKind } from './sweep/index.js';
import { topUpKind } from './topup/index.js';
import { trainingRuntimeKind } from './trainingruntime/index.js';
import { walletKind } from './wallet/index.js';

export const KINDS: readonly KindDefinition[] = [
  namespaceKind,
  secretKind,
  serviceAccountKind,
  offeringKind,
  apiKeyKind,
  memberKind,
  jobKind,
  sweepKind,
  pipelineKind,
  agentKind,
  agentRunKind,
  agentGroupKind,
  environmentKind,
  trainingRuntimeKind,
  trainingJobKind,
  modelKind,
  inferenceEndpointKind,
  attemptKind,
  nodeKind,
  webhookEndpointKind,
  budgetKind,
  topUpKind,
  creditGrantKind,
  cloudAccountKind,
  poolKind,
  poolActionKind,
  enrollmentTokenKind,
  sandboxKind,
  workspaceKind,
  imageKind,
  volumeKind,
  connectionKind,
  functionKind,
  functionCallKind,
  appKind,
];

/** With what is an actor and has no routes of a kind. */
export const STORED_KINDS: readonly KindDefinition[] = [...KINDS, walletKind];

const byName = new Map(STORED_KINDS.map((kind) => [kind.kind, kind]));
const byPlural = new Map(KINDS.map((kind) => [`${kind.group}/${kind.plural}`, kind]));

/** By `kind:`, for example `Job`. */
export function kindByName(name: string): KindDefinition | undefined {
  return byName.get(name);
}

/** By the plural in paths; `core` is `/api/v1`, `api` is `/apis/{group}`. */
export function kindByPlural(group: KindDefinition['group'], plural: string): KindDefinition | undefined {
  return byPlural.get(`${group}/${plural}`);
}
