import { STATUS_CODES } from 'node:http';
import test from 'ava';
import { ERROR_CODES } from '../../src/api/errors/codes.js';
import { PROTOCOL_TABLE } from '../../src/api/errors/protocol.js';
import { toStatus } from '../../src/api/errors/status.js';
import { ERROR_TABLE } from '../../src/api/errors/table.js';

test('every code has a complete entry, and every entry is a code', (t) => {
  t.deepEqual(Object.keys(ERROR_TABLE).toSorted(), [...ERROR_CODES].toSorted());
  for (const code of ERROR_CODES) {
    const entry = ERROR_TABLE[code];
    t.true(entry.status >= 400 && entry.status < 600, code);
    t.true(entry.fix.length > 5 && entry.title.length > 5 && entry.explanation.length > 20, code);
  }
});

/** HTTP status of every registered code; the spec names the codes and leaves most statuses open. */
const STATUSES: Readonly<Record<number, string>> = {
  400: 'BadRequest OutputIndexRequired',
  401: 'Unauthorized EnrollmentTokenInvalid',
  402: 'ArrearsOutstanding BudgetExceeded InsufficientCredits PaymentDisputed PaymentMethodRequired PriceConsentRequired',
  403: 'Forbidden QuotaExceeded TopUpLimitReached WorkerNotAllowed',
  404: 'NotFound FunctionNotFound ImageNotFound OutputNotFound',
  405: 'MethodNotAllowed',
  409:
    'AgentGroupClosed AgentGroupFull AgentRunFinished AgentStopped AlreadyExists CloudAccountNotVerified Conflict ' +
    'ConnectionNotReady ImageNotReady NoSSHKey PoolActPaused PoolActionNotPending PoolActionNotReversible PoolInUse ' +
    'PromoCodeUsed RequestInProgress SandboxFailed SandboxNotRunning SandboxStarting VolumeBusy WorkspaceStarting ' +
    'WorkspaceToolUnavailable',
  410: 'Expired PromoCodeExpired',
  412: 'PreconditionFailed',
  413: 'FileTooLarge FunctionCallBatchTooLarge RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'FieldImmutable IdempotencyKeyReused ImagePullFailed Invalid SecretValueInEnv SHA256Mismatch',
  429: 'StdinBackpressure TooManyRequests',
  500: 'EncryptionFailed InternalError',
  501: 'PaymentsNotConfigured Unsupported',
  503: 'AdmissionsPaused CapacityUnavailable ImageBuildUnavailable PaymentVerificationUnavailable Unavailable',
};

test('the codes and their statuses are those that are written down', (t) => {
  const table: Record<string, string[]> = {};
  for (const code of ERROR_CODES) (table[ERROR_TABLE[code].status] ??= []).push(code);
  for (const [status, codes] of Object.entries(STATUSES)) {
    t.deepEqual(table[status]?.toSorted(), codes.split(' ').toSorted(), status);
  }
  t.deepEqual(Object.keys(table).toSorted(), Object.keys(STATUSES).toSorted());
  t.is(ERROR_CODES.length, 65);
});

test('what can be tried again says when: 429, 503, *Starting and RequestInProgress', (t) => {
  for (const code of ERROR_CODES) {
    const entry = ERROR_TABLE[code];
    const retryable =
      entry.status === 429 || entry.status === 503 || code.endsWith('Starting') || code === 'RequestInProgress';
    t.is(entry.retryAfterSeconds !== undefined, retryable, code);
  }
});

/** Seconds of Retry-After, which clients wait by themselves. */
const RETRIES: Readonly<Record<number, string>> = {
  1: 'RequestInProgress SandboxStarting StdinBackpressure TooManyRequests Unavailable',
  2: 'WorkspaceStarting',
  30: 'AdmissionsPaused CapacityUnavailable PaymentVerificationUnavailable',
  60: 'ImageBuildUnavailable',
};

test('a client is let try again after the seconds that are written down', (t) => {
  const after: Record<string, string[]> = {};
  for (const code of ERROR_CODES) {
    const { retryAfterSeconds } = ERROR_TABLE[code];
    if (retryAfterSeconds !== undefined) (after[retryAfterSeconds] ??= []).push(code);
  }
  t.deepEqual(
    after,
    Object.fromEntries(Object.entries(RETRIES).map(([seconds, codes]) => [seconds, codes.split(' ')])),
  );
  t.is(PROTOCOL_TABLE.Timeout.retryAfterSeconds, 1);
});

test('what only the protocol refuses has the status that HTTP has a word for', (t) => {
  t.is(STATUS_CODES[PROTOCOL_TABLE.NotAcceptable.status], 'Not Acceptable');
  t.is(STATUS_CODES[PROTOCOL_TABLE.Timeout.status], 'Gateway Timeout');
});

test('a refusal becomes a Kubernetes Status with docs, fix and requestId', (t) => {
  const answer = toStatus(
    {
      code: 'Invalid',
      message: 'no',
      causes: [{ field: 'spec.a', message: 'bad', reason: 'FieldValueInvalid' }],
      target: { kind: 'Job', name: 'a' },
    },
    { requestId: 'r1', docsBase: 'http://h' },
  );
  t.is(answer.httpStatus, 422);
  t.deepEqual(answer.headers, {});
  t.deepEqual(answer.body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'no: spec.a: bad',
    reason: 'Invalid',
    details: {
      kind: 'Job',
      name: 'a',
      causes: [{ field: 'spec.a', message: 'bad', reason: 'FieldValueInvalid' }],
    },
    code: 422,
    docs: 'http://h/docs/errors/Invalid',
    fix: ERROR_TABLE.Invalid.fix,
    requestId: 'r1',
  });
});

test('a retryable refusal carries whole seconds in the header and in details, never 0', (t) => {
  const answer = toStatus(
    { code: 'Unavailable', message: 'no', retryAfterSeconds: 0.2 },
    { requestId: 'r', docsBase: '' },
  );
  t.is(answer.headers['Retry-After'], '1');
  t.is(answer.body.details.retryAfterSeconds, 1);
  t.is(toStatus({ code: 'TooManyRequests', message: '' }, { requestId: '', docsBase: '' }).headers['Retry-After'], '1');
});

test('the message of what is invalid tells its causes once, and that of anything else is as it was', (t) => {
  const cause = { field: 'spec.a', reason: 'FieldValueInvalid', message: 'must be odd' } as const;
  const other = { field: 'spec.b', reason: 'FieldValueRequired', message: 'Required value' } as const;
  const message = (code: 'Invalid' | 'BadRequest', words: string, causes?: (typeof cause | typeof other)[]) =>
    toStatus({ code, message: words, causes }, { requestId: 'r', docsBase: 'http://127.0.0.1' }).body.message;
  t.is(message('Invalid', 'not this', [cause, other]), 'not this: spec.a: must be odd, spec.b: Required value');
  t.is(message('Invalid', 'a must be odd', [cause]), 'a must be odd');
  t.is(message('Invalid', 'not this', []), 'not this');
  t.is(message('Invalid', 'not this'), 'not this');
  t.is(message('BadRequest', 'not this', [cause]), 'not this');
});
