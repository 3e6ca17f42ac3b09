/**
 * What a ServiceAccount does: its scopes are cut to its writer's when they are written, and it issues tokens.
 * A token is bound twice: by the account's scopes at each use, and by what its issuer could do when it was issued; so
 * neither writing an account nor issuing a token lets anybody do more than before (spec, "Authentication" 3).
 */
import { createHash } from 'node:crypto';
import type { Author } from '../../api/access/author.js';
import type { CredentialDetail } from '../../api/access/credential.js';
import { outlives } from '../../api/access/expiry.js';
import { anyCovers, cutScopes } from '../../api/access/scope.js';
import { parseDuration } from '../../api/duration.js';
import { rfc3339 } from '../../api/time.js';
import { KEY_PREFIX } from '../../brand.js';
import type { Current, DecisionContext, Machine } from '../machine.js';
import { IGNORED, next, noteUse, plain, type PlainDecision, refused } from '../plain-machine.js';
import { type ServiceAccountSpec, type ServiceAccountStatus, tokenInput } from './schema.js';

type Here = Current<ServiceAccountSpec, ServiceAccountStatus, undefined>;

/** What was there before stays; what is new is cut to what its writer may do. */
function cutToWriter(
  spec: ServiceAccountSpec,
  before: ServiceAccountSpec | undefined,
  by: Author | undefined,
): ServiceAccountSpec {
  if (spec.scopes === undefined || spec.scopes === null) return spec;
  const had = before?.scopes ?? [];
  const ceiling = by?.scopes ?? [];
  const scopes = spec.scopes.flatMap((scope) => (anyCovers(had, scope) ? [scope] : cutScopes([scope], ceiling)));
  return { ...spec, scopes: [...new Set(scopes)] };
}

function issueToken(
  here: Here,
  input: unknown,
  by: Author | undefined,
  context: DecisionContext,
): PlainDecision<ServiceAccountStatus> {
  const { address, object } = here;
  if (by === undefined) return refused({ code: 'Forbidden', message: 'a token is issued on behalf of somebody' });
  if (object.metadata.deletionTimestamp !== undefined) {
    return refused({ code: 'Conflict', message: `serviceaccounts "${address.name}" is being deleted` });
  }
  const { data } = tokenInput.safeParse(input);
  const lifeMs = data === undefined ? undefined : parseDuration(data.expiresIn);
  if (lifeMs === undefined) return refused({ code: 'Invalid', message: 'expiresIn is no duration from 1m to 8760h' });
  // Whole seconds, so that what is shown is what holds.
  const expires = Math.floor((context.now + lifeMs) / 1000) * 1000;
  const beyond = outlives(by, expires, {
    field: 'expiresIn',
    what: 'the request',
    fix: () => `Ask for an expiresIn of at most ${Math.floor(((by.expires ?? 0) - context.now) / 1000)}s.`,
  });
  if (beyond !== undefined) return refused(beyond);
  const detail: CredentialDetail = {
    actsAs: { serviceAccount: { project: address.project, name: address.name } },
    scopes: by.scopes,
    ...(by.projects === undefined ? {} : { projects: by.projects }),
  };
  const bearer = makeBearer((length) => context.randomBytes(length));
  return next<ServiceAccountStatus>(object.status, {
    effects: [{ type: 'GrantCredential', sha256: bearer.sha256, expires, detail: { ...detail } }],
    reveal: { token: bearer.value, expirationTime: rfc3339(expires) },
  });
}

export const serviceAccountMachine: Machine<ServiceAccountSpec, ServiceAccountStatus, undefined, undefined, never> = {
  decide(current, _side, message, context) {
    const { object } = current;
    switch (message.type) {
      case 'Created':
        return next<ServiceAccountStatus>(object.status, { spec: cutToWriter(object.spec, undefined, message.by) });
      case 'Updated': {
        const before = message.before.spec;
        return next<ServiceAccountStatus>(object.status, { spec: cutToWriter(object.spec, before, message.by) });
      }
      case 'Action':
        return message.action === 'IssueToken' ? issueToken(current, message.input, message.by, context) : IGNORED;
      case 'MessageReceived':
        return message.content.type === 'Used' ? noteUse(current, message.content.time) : IGNORED;
      default:
        return plain(current, message);
    }
  },
};

/** 256 bits: 43 characters of base64url. */
const KEY_BYTES = 32;

export interface Bearer {
  /** `svc_` + 43 base64url characters. Never stored, logged or shown again. */
  readonly value: string;
  readonly sha256: string;
}

/** SHA-256 of a bearer value in lower-case hex, under which its credential is stored and found. */
export function bearerHash(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}

/** Keys (`../apikey`) and tokens of ServiceAccounts are made the same way. Randomness is an argument (I9). */
export function makeBearer(randomBytes: (length: number) => Uint8Array): Bearer {
  const value = KEY_PREFIX + Buffer.from(randomBytes(KEY_BYTES)).toString('base64url');
  return { value, sha256: bearerHash(value) };
}
