/**
 * Owns what each registered error code means: HTTP status, the next step for the caller, and the text of its docs page.
 * One entry per code of `codes.ts`; the compiler misses none. HTTP statuses are those of decisions, "HTTP status of codes".
 */
import type { ErrorCode } from './codes.js';

export interface ErrorEntry {
  readonly status: number;
  /** A sentence for people, without a full stop. */
  readonly title: string;
  /** When it happens; the body of the docs page. */
  readonly explanation: string;
  /** What to do when the refusal itself names no better step. */
  readonly fix: string;
  /** Set for codes that a repeat of the same request may get past; seconds until it is worth trying. */
  readonly retryAfterSeconds?: number | undefined;
}

export const ERROR_TABLE: Readonly<Record<ErrorCode, ErrorEntry>> = {
  AdmissionsPaused: {
    status: 503,
    title: 'New work is paused',
    explanation:
      'An operator has paused the admission of new work, or the disk of the service is nearly full. What runs goes on; nothing new is taken.',
    fix: 'Try again later, or ask the operator of this service when admissions resume.',
    retryAfterSeconds: 30,
  },
  AgentGroupClosed: {
    status: 409,
    title: 'The AgentGroup takes no more members',
    explanation: 'The group is sealed or in its cancel state, so no AgentRun can be added to it.',
    fix: 'Create a new AgentGroup, or create the run without spec.group.',
  },
  AgentGroupFull: {
    status: 409,
    title: 'The AgentGroup is full',
    explanation: 'The group already has spec.limits.maxPending members that wait.',
    fix: 'Wait until members finish, or raise spec.limits.maxPending of the group.',
  },
  AgentRunFinished: {
    status: 409,
    title: 'The AgentRun has finished',
    explanation: 'A finished run takes no messages and no resolutions.',
    fix: 'Create a new AgentRun.',
  },
  AgentStopped: {
    status: 409,
    title: 'The Agent is stopped',
    explanation: 'The Agent has spec.state Stopped and refuses new runs.',
    fix: 'Set spec.state of the Agent to Running, then create the run again.',
  },
  AlreadyExists: {
    status: 409,
    title: 'An object of this name exists',
    explanation: 'Names are unique per kind and project. The object may also still be on its way out.',
    fix: 'Choose another name, use metadata.generateName, or replace or patch the object that is there.',
  },
  ArrearsOutstanding: {
    status: 402,
    title: 'Arrears have to be paid first',
    explanation: 'A charge exceeded the balance. New work waits until the arrears are paid.',
    fix: 'Add credits with a TopUp that covers the arrears.',
  },
  BadRequest: {
    status: 400,
    title: 'The request could not be understood',
    explanation:
      'The body is not valid JSON or YAML, or a parameter, selector or header has a form that cannot be read. Nothing was changed.',
    fix: 'Correct the request as the message says.',
  },
  BudgetExceeded: {
    status: 402,
    title: 'A spending limit is used up',
    explanation:
      'A Budget with action Block, or a cap such as spec.maxCostUSD, leaves no room for the hold that this request needs.',
    fix: 'Raise the limit of the Budget or the cap that the message names, or wait for its next period.',
  },
  CapacityUnavailable: {
    status: 503,
    title: 'No capacity',
    explanation:
      'No Offering that the placement allows has room now, or the work waited longer than placement.queueTimeout.',
    fix: 'Try again later, allow more offerings or regions in spec.placement, or raise placement.queueTimeout.',
    retryAfterSeconds: 30,
  },
  CloudAccountNotVerified: {
    status: 409,
    title: 'The CloudAccount is not verified',
    explanation: 'Access to the cloud account has not been verified yet, so nothing can be read from it.',
    fix: 'Finish the onboarding of the CloudAccount and wait for its condition Verified.',
  },
  Conflict: {
    status: 409,
    title: 'The object is not in the state that the request expects',
    explanation:
      'The resourceVersion or uid in the request is not that of the stored object: it was changed or replaced in between. Some actions also conflict with the state that the object is in.',
    fix: 'Read the object again, apply your change to what you got, and send that.',
  },
  ConnectionNotReady: {
    status: 409,
    title: 'The Connection is not ready',
    explanation: 'The Connection is not verified, so it cannot be attached to work.',
    fix: 'Look at the conditions of the Connection, correct what they name, and try again.',
  },
  EncryptionFailed: {
    status: 500,
    title: 'Values could not be encrypted',
    explanation: 'The master key could not seal or open the values. Nothing was stored in the clear.',
    fix: 'Try again; if it stays, tell the operator the requestId.',
  },
  EnrollmentTokenInvalid: {
    status: 401,
    title: 'The enrollment token is not valid',
    explanation: 'The token is unknown, expired, or has been used as often as it may.',
    fix: 'Create a new EnrollmentToken and enroll the machine with it.',
  },
  Expired: {
    status: 410,
    title: 'The version is no longer kept',
    explanation:
      'The resourceVersion or continue token is older than the kept history, so an exact answer cannot be given any more.',
    fix: 'List again without resourceVersion and continue, then watch from the version of that list.',
  },
  FieldImmutable: {
    status: 422,
    title: 'A field cannot change after create',
    explanation: 'The request changes fields that are fixed when the object is created. The causes name each of them.',
    fix: 'Leave these fields as they are, or delete the object and create it anew.',
  },
  FileTooLarge: {
    status: 413,
    title: 'The file is too large',
    explanation: 'The file exceeds what this route takes in one piece.',
    fix: 'Use the archive route, or upload the file as a blob.',
  },
  Forbidden: {
    status: 403,
    title: 'Not allowed',
    explanation: 'The credentials are valid, and their scopes, role or projects do not cover this request.',
    fix: 'Use a key with the scope that the message names, or ask an Owner or Admin of your org for it.',
  },
  FunctionCallBatchTooLarge: {
    status: 413,
    title: 'Too many calls in one batch',
    explanation: 'A batch of function calls has a limit in calls and in bytes.',
    fix: 'Split the batch.',
  },
  FunctionNotFound: {
    status: 404,
    title: 'No such Function',
    explanation: 'There is no Function of this name in the project, or it has no such method.',
    fix: 'List the functions of the project and check the name and the method.',
  },
  IdempotencyKeyReused: {
    status: 422,
    title: 'The Idempotency-Key belongs to another request',
    explanation: 'The same key was used in the last 24 hours with another method, path or body.',
    fix: 'Use a new Idempotency-Key for each different request.',
  },
  ImageBuildUnavailable: {
    status: 503,
    title: 'Images cannot be built now',
    explanation: 'The builder is not reachable or not set up.',
    fix: 'Try again later, or use an image that is built already.',
    retryAfterSeconds: 60,
  },
  ImageNotFound: {
    status: 404,
    title: 'No such image',
    explanation: 'The image is neither in the catalog nor in the project, and its registry does not have it.',
    fix: 'Check the reference; `kubectl get images` lists the images of the project.',
  },
  ImageNotReady: {
    status: 409,
    title: 'The Image is not ready',
    explanation: 'The Image is still being built, or its build has failed.',
    fix: 'Wait until its phase is Ready, or look at its status.message.',
  },
  ImagePullFailed: {
    status: 422,
    title: 'The image could not be pulled',
    explanation: 'The registry refused or did not answer while the image was resolved.',
    fix: 'Check the reference and the imagePullSecrets.',
  },
  InsufficientCredits: {
    status: 402,
    title: 'Not enough credits',
    explanation: 'The available balance does not cover the hold that this request needs.',
    fix: 'Add credits with a TopUp, or ask for less.',
  },
  InternalError: {
    status: 500,
    title: 'Something went wrong inside',
    explanation:
      'The service failed. What was not acknowledged may or may not have been done; an Idempotency-Key makes a repeat safe.',
    fix: 'Try again; if it stays, tell the operator the requestId.',
  },
  Invalid: {
    status: 422,
    title: 'Fields are not valid',
    explanation:
      'The body could be read, and one or more of its fields break a rule. The causes name each field and its rule.',
    fix: 'Correct the fields that the causes name.',
  },
  MethodNotAllowed: {
    status: 405,
    title: 'The method is not allowed here',
    explanation: 'The path exists and does not offer this method; read-only kinds offer no writes.',
    fix: 'Use one of the methods in the Allow header.',
  },
  NoSSHKey: {
    status: 409,
    title: 'There is no SSH key',
    explanation: 'The Workspace names no keys, and no member who may use the project has one.',
    fix: 'Add a public key to spec.sshKeys.',
  },
  NotFound: {
    status: 404,
    title: 'Not found',
    explanation: 'There is no such path, project or object, or it belongs to another org.',
    fix: 'Check the name, the project and the kind.',
  },
  OutputIndexRequired: {
    status: 400,
    title: 'The index of the output is missing',
    explanation: 'The Job has more than one index, so an output has to be asked for with its index.',
    fix: 'Add `?index=<n>` to the request.',
  },
  OutputNotFound: {
    status: 404,
    title: 'No such output',
    explanation: 'This index has not produced an output of this name (yet).',
    fix: 'List the outputs of the Job, and look at the phase of the index.',
  },
  PaymentDisputed: {
    status: 402,
    title: 'A payment is disputed',
    explanation: 'While a payment is disputed, no new work is started.',
    fix: 'Settle the dispute, or pay the amount anew.',
  },
  PaymentMethodRequired: {
    status: 402,
    title: 'A payment method is needed',
    explanation: 'This request needs a saved payment method, and the org has none.',
    fix: 'Create a TopUp with spec.savePaymentMethod true and pay it.',
  },
  PaymentVerificationUnavailable: {
    status: 503,
    title: 'Payments cannot be verified now',
    explanation: 'The payment processor does not answer.',
    fix: 'Try again later.',
    retryAfterSeconds: 30,
  },
  PaymentsNotConfigured: {
    status: 501,
    title: 'Payments are not set up',
    explanation: 'This deployment runs without a payment processor.',
    fix: 'Ask the operator for credits, or to set up payments.',
  },
  PoolActPaused: {
    status: 409,
    title: 'Automation of the Pool is paused',
    explanation: 'The Pool is paused, so its actions are not carried out.',
    fix: 'Set spec.paused of the Pool to false.',
  },
  PoolActionNotPending: {
    status: 409,
    title: 'The PoolAction is decided already',
    explanation: 'spec.decision is written once, and this action has been decided or has expired.',
    fix: 'Wait for the next action that the Pool proposes.',
  },
  PoolActionNotReversible: {
    status: 409,
    title: 'The PoolAction cannot be taken back',
    explanation: 'Only an executed action whose status.revertible is true can be reverted.',
    fix: 'Change the Pool itself.',
  },
  PoolInUse: {
    status: 409,
    title: 'The Pool is in use',
    explanation: 'Work runs on the Pool, or nodes belong to it.',
    fix: 'Move or end the work and detach the nodes first.',
  },
  PreconditionFailed: {
    status: 412,
    title: 'If-Match does not match',
    explanation: 'The object has another resourceVersion than the If-Match header asks for.',
    fix: 'Read the object again and send its ETag as If-Match.',
  },
  PriceConsentRequired: {
    status: 402,
    title: 'The price needs your consent',
    explanation: 'The price has changed beyond what this request agreed to.',
    fix: 'Look at the estimate of a dry run and send the request again with the rate that you accept.',
  },
  PromoCodeExpired: {
    status: 410,
    title: 'The promo code has expired',
    explanation: 'The code was valid once and is not any more.',
    fix: 'Use another code.',
  },
  PromoCodeUsed: {
    status: 409,
    title: 'The promo code has been used',
    explanation: 'Your org has used this code before.',
    fix: 'Use another code.',
  },
  QuotaExceeded: {
    status: 403,
    title: 'A quota is reached',
    explanation: 'The org holds as many objects or bytes as it may.',
    fix: 'Delete what is no longer needed, or ask the operator for a higher quota.',
  },
  RequestEntityTooLarge: {
    status: 413,
    title: 'The body is too large',
    explanation: 'Bodies and stored objects have at most 3 MiB (lists of runs and batches of calls: 32 MiB).',
    fix: 'Send less in one request; put large data into a blob and name its digest.',
  },
  RequestInProgress: {
    status: 409,
    title: 'The same request is still running',
    explanation: 'A request with this Idempotency-Key has not been answered yet.',
    fix: 'Wait, then send the same request with the same key: you get the answer of the first.',
    retryAfterSeconds: 1,
  },
  SandboxFailed: {
    status: 409,
    title: 'The Sandbox has failed',
    explanation: 'The Sandbox could not be started or was lost, so nothing can be run in it.',
    fix: 'Look at status.reason and status.message, then delete the Sandbox or start it again.',
  },
  SandboxNotRunning: {
    status: 409,
    title: 'The Sandbox is not running',
    explanation: 'The Sandbox is stopped, or the handle belongs to an earlier epoch of it.',
    fix: 'Set spec.state to Running and use a handle of the current epoch.',
  },
  SandboxStarting: {
    status: 409,
    title: 'The Sandbox is starting',
    explanation: 'The Sandbox is not ready to run commands yet.',
    fix: 'Try again in a moment.',
    retryAfterSeconds: 1,
  },
  SecretValueInEnv: {
    status: 422,
    title: 'A secret value stands in plain environment',
    explanation:
      'A value in spec.env looks like a credential. Values in a spec can be read by all who may read the object.',
    fix: 'Put the value into a Secret and refer to it with valueFrom.secretKeyRef.',
  },
  SHA256Mismatch: {
    status: 422,
    title: 'The checksum does not match',
    explanation: 'The bytes that arrived do not have the SHA-256 that the request names. Nothing was stored.',
    fix: 'Compute the checksum again and send the bytes again.',
  },
  StdinBackpressure: {
    status: 429,
    title: 'The process does not read its input fast enough',
    explanation: 'The buffer before the standard input of the process is full.',
    fix: 'Wait, then send the same bytes again.',
    retryAfterSeconds: 1,
  },
  TooManyRequests: {
    status: 429,
    title: 'Too many requests',
    explanation: 'A rate or concurrency limit is reached.',
    fix: 'Slow down and honour Retry-After.',
    retryAfterSeconds: 1,
  },
  TopUpLimitReached: {
    status: 403,
    title: 'The limit of top-ups is reached',
    explanation: 'The org has as many open or recent TopUps as it may.',
    fix: 'Finish or let expire the open checkouts, or try again tomorrow.',
  },
  Unauthorized: {
    status: 401,
    title: 'No valid credentials',
    explanation: 'The Authorization header is missing, or its key or token is unknown, expired or revoked.',
    fix: 'Send `Authorization: Bearer <key>` with a valid API key or ServiceAccount token.',
  },
  Unavailable: {
    status: 503,
    title: 'The service cannot answer now',
    explanation:
      'Storage cannot be reached, the service is draining or starting, or an object has too many requests waiting.',
    fix: 'Try again after the time in Retry-After.',
    retryAfterSeconds: 1,
  },
  Unsupported: {
    status: 501,
    title: 'Not built yet',
    explanation: 'The request is valid and uses something that this version of the service does not carry out.',
    fix: 'Leave out the fields that the causes name.',
  },
  UnsupportedMediaType: {
    status: 415,
    title: 'The content type is not supported',
    explanation:
      'Bodies are application/json or application/yaml; patches are application/merge-patch+json or application/json-patch+json.',
    fix: 'Send one of these content types.',
  },
  VolumeBusy: {
    status: 409,
    title: 'The Volume is held by another writer',
    explanation: 'A ReadWriteOnce Volume has one writer at a time. status.holder names it.',
    fix: 'Wait until the holder releases the Volume, or stop the holder.',
  },
  WorkerNotAllowed: {
    status: 403,
    title: 'The worker may not do this',
    explanation: 'The token of an attempt reaches only the API of that attempt.',
    fix: 'Use an API key or a ServiceAccount token.',
  },
  WorkspaceStarting: {
    status: 409,
    title: 'The Workspace is starting',
    explanation: 'The Workspace is not ready yet.',
    fix: 'Try again in a moment.',
    retryAfterSeconds: 2,
  },
  WorkspaceToolUnavailable: {
    status: 409,
    title: 'The tool is not available in the Workspace',
    explanation: 'The tool is not in spec.tools, or it does not run in this image.',
    fix: 'Add the tool to spec.tools and restart the Workspace.',
  },
};
