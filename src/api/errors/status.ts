/** The wire form of a refusal: a Kubernetes `Status` with our three extensions (spec, "Errors"). */
import { causeLine } from './cause-line.js';
import type { Cause, Refusal } from '../refusal.js';
import type { ErrorCode } from './codes.js';
import type { ProtocolReason } from './protocol.js';
import { ERROR_TABLE } from './table.js';

export interface StatusBody {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Record<string, never>;
  readonly status: 'Failure';
  readonly message: string;
  readonly reason: ErrorCode;
  readonly details: {
    readonly name?: string | undefined;
    readonly group?: string | undefined;
    readonly kind?: string | undefined;
    readonly uid?: string | undefined;
    readonly causes?: readonly Cause[] | undefined;
    readonly retryAfterSeconds?: number | undefined;
    readonly epoch?: number | undefined;
  };
  readonly code: number;
  readonly docs: string;
  readonly fix: string;
  readonly requestId: string;
}

export interface StatusAnswer {
  readonly httpStatus: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: StatusBody;
}

/** What a client shows is the message alone, so it tells the causes of what is invalid, wherever the refusal was made. */
function messageOf({ message, causes }: Refusal, status: number): string {
  const [first] = causes ?? [];
  if (status !== 422 || first === undefined || message.includes(first.message)) return message;
  return `${message}: ${(causes ?? []).map(causeLine).join(', ')}`;
}

/** Path of a code's page below the service's address. */
export function docsPath(code: ErrorCode | ProtocolReason): string {
  return `/docs/errors/${code}`;
}

/** `docsBase` is the address of the service, without a slash at its end. */
export function toStatus(
  refusal: Refusal,
  context: { readonly requestId: string; readonly docsBase: string },
): StatusAnswer {
  const entry = ERROR_TABLE[refusal.code];
  const asked = refusal.retryAfterSeconds ?? entry.retryAfterSeconds;
  const retryAfterSeconds = asked === 'Never' ? undefined : asked;
  return {
    httpStatus: entry.status,
    headers:
      retryAfterSeconds === undefined ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterSeconds))) },
    body: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: messageOf(refusal, entry.status),
      reason: refusal.code,
      details: {
        ...refusal.target,
        ...(refusal.causes === undefined ? {} : { causes: refusal.causes }),
        ...(refusal.epoch === undefined ? {} : { epoch: refusal.epoch }),
        ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterSeconds)) }),
      },
      code: entry.status,
      docs: context.docsBase + docsPath(refusal.code),
      fix: refusal.fix ?? entry.fix,
      requestId: context.requestId,
    },
  };
}
