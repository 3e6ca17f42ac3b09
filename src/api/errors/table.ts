/**
 * What each registered error code means: HTTP status, the next step for the caller, and the text of its docs page.
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
      'An operator has paused the admission of new work, or the disk of the service is nearly full. Running work continues; no new work starts.',
    fix: 'Try again later, or ask the operator of this service when admissions resume.',
    retryAfterSeconds: 30,
  },
  AgentGroupClosed: {
    status: 409,
    title: 'The AgentGroup takes no more members',
    explanation: 'The group is sealed or Cancelled, so no AgentRun can be added to it.',
    fix: 'Create a new AgentGroup, or create the run without spec.group.',
  },
  AgentGroupFull: {
    status: 409,
    title: 'The AgentGroup is full',
    explanation: 'The group already has spec.limits.maxPending unfinished members.',
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
    title: 'An object of this name already exists',
    explanation:
      'Names are unique per kind and project. An object that is being deleted keeps its name until it is gone.',
    fix: 'Choose another name, use metadata.generateName, or replace or patch the existing object.',
  },
  ArrearsOutstanding: {
    status: 402,
    title: 'Arrears must be paid first',
    explanation: 'A charge exceeded the balance. New work waits until the arrears are paid.',
    fix: 'Add credits with a TopUp that covers the arrears.',
  },
  BadRequest: {
    status: 400,
    title: 'The request could not be understood',
    explanation:
      'The body is not valid JSON or YAML, or a parameter, selector or header is malformed. Nothing was changed.',
    fix: 'Correct what the message names and send the request again.',
  },
  BudgetExceeded: {
    status: 402,
    title: 'A spending limit is reached',
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
    explanation: 'Access to the cloud account is not verified yet, so it cannot be read.',
    fix: 'Finish the onboarding of the CloudAccount and wait for its condition Verified.',
  },
  Conflict: {
    status: 409,
    title: 'The request conflicts with the current state of the object',
    explanation:
      'The resourceVersion or uid in the request is not that of the stored object: another write changed or replaced it. Some actions also conflict with the phase of the object.',
    fix: 'Read the object again, apply your change to the new version, and send that.',
  },
  ConnectionNotReady: {
    status: 409,
    title: 'The Connection is not ready',
    explanation: 'The Connection is not verified, so it cannot be attached to work.',
    fix: 'Correct what status.conditions of the Connection reports, and try again.',
  },
  EncryptionFailed: {
    status: 500,
    title: 'Values could not be encrypted',
    explanation:
      'The values could not be encrypted or decrypted with the master key. Nothing was stored in plain text.',
    fix: 'Try again; if the error persists, report the requestId to the operator.',
  },
  EnrollmentTokenInvalid: {
    status: 401,
    title: 'The enrollment token is not valid',
    explanation: 'The token is unknown, expired, or has reached spec.maxUses.',
    fix: 'Create a new EnrollmentToken and enroll the machine with it.',
  },
  Expired: {
    status: 410,
    title: 'The version is too old',
    explanation: 'The resourceVersion or continue token is older than the kept history.',
    fix: 'List again without resourceVersion and continue, then watch from the version of that list.',
  },
  FieldImmutable: {
    status: 422,
    title: 'A field cannot change after create',
    explanation: 'The request changes fields that cannot change after create. The causes name each of them.',
    fix: 'Keep these fields unchanged, or delete the object and create it again.',
  },
  FileTooLarge: {
    status: 413,
    title: 'The file is too large',
    explanation: 'The file is larger than the limit of this route.',
    fix: 'Use the archive route, or upload the file as a blob.',
  },
  Forbidden: {
    status: 403,
    title: 'Forbidden',
    explanation: 'The credentials are valid, but their scopes, role or projects do not allow this request.',
    fix: 'Use a key with the scope that the message names, or ask an Owner or Admin of your org for it.',
  },
  FunctionCallBatchTooLarge: {
    status: 413,
    title: 'Too many calls in one batch',
    explanation: 'A batch of function calls is limited in number of calls and in bytes.',
    fix: 'Send the calls in several smaller batches.',
  },
  FunctionNotFound: {
    status: 404,
    title: 'Function not found',
    explanation: 'The project has no Function of this name, or the Function has no such method.',
    fix: 'Check the name and the method; `kubectl get functions` lists the Functions of the project.',
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
    explanation: 'The builder is unreachable or not configured.',
    fix: 'Try again later, or use an image that is already built.',
    retryAfterSeconds: 60,
  },
  ImageNotFound: {
    status: 404,
    title: 'Image not found',
    explanation: 'The image is not in the catalog, the project or its registry.',
    fix: 'Check the reference; `kubectl get images` lists the images of the project.',
  },
  ImageNotReady: {
    status: 409,
    title: 'The Image is not ready',
    explanation: 'The Image is still being built, or its build has failed.',
    fix: 'Wait until its phase is Ready; if it is Failed, correct what status.message reports.',
  },
  ImagePullFailed: {
    status: 422,
    title: 'The image could not be pulled',
    explanation: 'The registry refused the request or did not respond.',
    fix: 'Check the reference and the imagePullSecrets.',
  },
  InsufficientCredits: {
    status: 402,
    title: 'Not enough credits',
    explanation: 'The available balance does not cover the hold that this request needs.',
    fix: 'Add credits with a TopUp, or request fewer resources.',
  },
  InternalError: {
    status: 500,
    title: 'Internal error',
    explanation:
      'The service failed. The request may or may not have taken effect; with an Idempotency-Key it can be repeated safely.',
    fix: 'Try again; if the error persists, report the requestId to the operator.',
  },
  Invalid: {
    status: 422,
    title: 'Invalid fields',
    explanation: 'The body was parsed, but one or more fields are invalid. The causes name each field and its rule.',
    fix: 'Correct the fields that the causes name.',
  },
  MethodNotAllowed: {
    status: 405,
    title: 'The method is not allowed here',
    explanation: 'The path exists but does not support this method; read-only kinds support no writes.',
    fix: 'Use one of the methods in the Allow header.',
  },
  NoSSHKey: {
    status: 409,
    title: 'No SSH key',
    explanation: 'spec.sshKeys of the Workspace is empty, and no member with access to the project has an SSH key.',
    fix: 'Add a public key to spec.sshKeys of the Workspace or of your Member.',
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
    explanation: 'The Job has more than one index, so the request must name one.',
    fix: 'Add `?index=<n>` to the request.',
  },
  OutputNotFound: {
    status: 404,
    title: 'Output not found',
    explanation: 'This index has not produced an output of this name.',
    fix: 'List the outputs of the Job, and check that the index has succeeded.',
  },
  PaymentDisputed: {
    status: 402,
    title: 'A payment is disputed',
    explanation: 'While a payment is disputed, no new work is started.',
    fix: 'Have the dispute withdrawn, or wait until it is decided: `disputes` of GET …/wallet names the TopUps.',
  },
  PaymentMethodRequired: {
    status: 402,
    title: 'A payment method is required',
    explanation: 'This request needs a saved payment method, and the org has none.',
    fix: 'Create a TopUp with spec.savePaymentMethod true, and let the card be saved on its page when you pay.',
  },
  PaymentVerificationUnavailable: {
    status: 503,
    title: 'Payments cannot be verified now',
    explanation: 'The payment processor does not respond.',
    fix: 'Try again later.',
    retryAfterSeconds: 30,
  },
  PaymentsNotConfigured: {
    status: 501,
    title: 'Payments are not configured',
    explanation: 'This deployment runs without a payment processor.',
    fix: 'Ask the operator for a promo code, or to configure payments.',
  },
  PoolActPaused: {
    status: 409,
    title: 'Automation of the Pool is paused',
    explanation: 'spec.paused of the Pool is true, so its actions are not executed.',
    fix: 'Set spec.paused of the Pool to false.',
  },
  PoolActionNotPending: {
    status: 409,
    title: 'The PoolAction is already decided',
    explanation: 'spec.decision is written once, and this action has been decided or has expired.',
    fix: 'Wait for the next action that the Pool proposes.',
  },
  PoolActionNotReversible: {
    status: 409,
    title: 'The PoolAction cannot be reverted',
    explanation: 'Only an executed action whose status.revertible is true can be reverted.',
    fix: 'Change the Pool itself.',
  },
  PoolInUse: {
    status: 409,
    title: 'The Pool is in use',
    explanation: 'Work runs on the Pool, or nodes belong to it.',
    fix: 'Stop the work, remove the Nodes from the Pool, then try again.',
  },
  PreconditionFailed: {
    status: 412,
    title: 'If-Match does not match',
    explanation:
      'The object has another resourceVersion than the If-Match header asks for; or, of a create, the header is not the ETag of an estimate of this spec.',
    fix: 'Read the object again and send its ETag as If-Match; for a create send the ETag of its dry run.',
  },
  PriceConsentRequired: {
    status: 402,
    title: 'The price needs your consent',
    explanation:
      'The rate is above what this request agreed to: placement.maxRateUSDPerHour, or the rate of its If-Match and a tenth more.',
    fix: 'Check the estimate of a dry run and send the request again with the rate that you accept.',
  },
  PromoCodeExpired: {
    status: 410,
    title: 'The promo code has expired',
    explanation: 'The promo code has expired, or its operator has withdrawn it.',
    fix: 'Use another code.',
  },
  PromoCodeUsed: {
    status: 409,
    title: 'The promo code is already used',
    explanation: 'Your org has already redeemed this promo code, or it was redeemed as often as it may be.',
    fix: 'Use another code.',
  },
  QuotaExceeded: {
    status: 403,
    title: 'A quota is reached',
    explanation: 'The org has reached its quota of objects, of bytes, or of Attempts that have not ended.',
    fix: 'Delete objects that are no longer needed, or ask the operator for a higher quota.',
  },
  RequestEntityTooLarge: {
    status: 413,
    title: 'The body is too large',
    explanation:
      'Bodies and stored objects have at most 3 MiB (lists of runs and batches of calls: 32 MiB), and bodies at most 50,000 members and elements.',
    fix: 'Split the request, or upload large data as a blob and refer to its digest.',
  },
  RequestInProgress: {
    status: 409,
    title: 'The same request is still running',
    explanation: 'A request with this Idempotency-Key is still running.',
    fix: 'Wait, then send the same request with the same key to get the stored response.',
    retryAfterSeconds: 1,
  },
  SandboxFailed: {
    status: 409,
    title: 'The Sandbox has failed',
    explanation: 'The Sandbox could not be started or was lost, so it cannot run commands.',
    fix: 'Check status.reason and status.message, then delete the Sandbox or start it again.',
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
    title: 'A secret value is in plain environment',
    explanation:
      'A value in spec.env is or contains a value of a Secret that the same spec mounts. Anyone who may read the object can read spec.env. Other Secrets are not compared.',
    fix: 'Put the value into a Secret and refer to it with valueFrom.secretKeyRef.',
  },
  SHA256Mismatch: {
    status: 422,
    title: 'The checksum does not match',
    explanation: 'The SHA-256 of the received bytes differs from the one in the request. Nothing was stored.',
    fix: 'Compute the checksum again and send the bytes again.',
  },
  StdinBackpressure: {
    status: 429,
    title: 'The process reads its input too slowly',
    explanation: 'The buffer for the standard input of the process is full.',
    fix: 'Wait, then send the same bytes again.',
    retryAfterSeconds: 1,
  },
  TooManyRequests: {
    status: 429,
    title: 'Too many requests',
    explanation: 'A rate or concurrency limit is reached.',
    fix: 'Wait for the time in Retry-After, and send fewer requests.',
    retryAfterSeconds: 1,
  },
  TopUpLimitReached: {
    status: 403,
    title: 'Too many TopUps',
    explanation: 'The org has 5 open TopUps, or has reached the daily limit.',
    fix: 'Pay the open checkouts or let them expire; the daily limit is of the last 24 hours.',
  },
  Unauthorized: {
    status: 401,
    title: 'No valid credentials',
    explanation: 'The Authorization header is missing, or its key or token is unknown, expired or revoked.',
    fix: 'Send `Authorization: Bearer <key>` with a valid API key or ServiceAccount token.',
  },
  Unavailable: {
    status: 503,
    title: 'The service is unavailable',
    explanation:
      'The database or the runner of the work does not answer, the service is starting, draining or a standby, or too many requests wait for the same object.',
    fix: 'Try again after the time in Retry-After.',
    retryAfterSeconds: 1,
  },
  Unsupported: {
    status: 501,
    title: 'Not supported',
    explanation: 'The request is valid, but uses a feature that this version of the service does not implement.',
    fix: 'Remove the fields that the causes name.',
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
    explanation: 'The token of an Attempt is only valid for the API of that Attempt.',
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
    explanation: 'The tool is not in spec.tools, or the image does not contain it.',
    fix: 'Add the tool to spec.tools, or use an image that contains it, and restart the Workspace.',
  },
};
