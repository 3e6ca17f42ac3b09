/**
 * The life of a key: made once with a value that is shown once, bound to its maker, ended by its expiry or deletion.
 *
 * A key can never do more than its maker: its scopes and projects are cut here to the maker's, and at each use to those of
 * the member or ServiceAccount that it acts as, and of the member who made it for another (`src/api/access/credential.ts`).
 */
import type { Author } from '../../api/access/author.js';
import type { CredentialDetail } from '../../api/access/credential.js';
import { outlives } from '../../api/access/expiry.js';
import { cutGrant, may, namedProjects } from '../../api/access/grant.js';
import { OPERATOR_SCOPE, anyCovers } from '../../api/access/scope.js';
import type { Refusal } from '../../api/refusal.js';
import { parseTime } from '../../api/time.js';
import type { Effect } from '../effect.js';
import type { Current, Machine, DecisionContext } from '../machine.js';
import { IGNORED, next, noteUse, plain, type PlainDecision, refused } from '../plain-machine.js';
import { makeBearer } from '../serviceaccount/machine.js';
import type { APIKeySpec, APIKeyStatus } from './schema.js';

type Here = Current<APIKeySpec, APIKeyStatus, undefined>;

const EXPIRY = 'expire';

/** Shown characters after the prefix: enough to tell keys apart, 24 bits of 256 given away. */
const SHOWN = 8;

type Acting = CredentialDetail['actsAs'];

/** Whom the key acts as, or why its maker may not make such a key. */
function actsAs(spec: APIKeySpec, by: Author): Acting | Refusal {
  if (spec.serviceAccount !== undefined) {
    const { project, name } = spec.serviceAccount;
    const itself = by.serviceAccount?.project === project && by.serviceAccount.name === name;
    if (itself || may(by, 'serviceaccounts:write', project)) return { serviceAccount: { project, name } };
    return { code: 'Forbidden', message: `you may not make keys of ServiceAccount ${project}/${name}` };
  }
  if (spec.member !== undefined) {
    if (spec.member === by.member || anyCovers(by.scopes, 'members:write')) return { member: spec.member };
    return { code: 'Forbidden', message: `you may not make keys of member ${spec.member}` };
  }
  if (by.member !== undefined) return { member: by.member };
  if (by.serviceAccount !== undefined) return { serviceAccount: by.serviceAccount };
  return { code: 'Forbidden', message: 'a key is made on behalf of a member or a ServiceAccount' };
}

/**
 * The members beside its own who have to stay: without them a key for another member would outlive who made it. Keys that
 * are made with it are bound to them as well, but not to a whole Owner: the first key of a new member comes from one, and
 * what that member then makes has to stand on its own.
 */
function boundBy(acting: Acting, by: Author): Pick<CredentialDetail, 'boundTo' | 'passesOn'> {
  if (!('member' in acting)) return {}; // a ServiceAccount belongs to its project, not to who made its keys
  const before = by.boundTo ?? [];
  if (by.member === undefined || by.member === acting.member) {
    return before.length === 0 ? {} : { boundTo: before, passesOn: before };
  }
  const boundTo = [...new Set([...before, by.member])];
  return { boundTo, passesOn: anyCovers(by.scopes, '*:*') ? before : boundTo };
}

function create(here: Here, by: Author, context: DecisionContext): PlainDecision<APIKeyStatus> {
  const { spec, status } = here.object;
  const acting = actsAs(spec, by);
  if ('code' in acting) return refused(acting);
  // Operators' power is never passed on unasked.
  const asked = spec.scopes ?? by.scopes.filter((scope) => scope !== OPERATOR_SCOPE);
  const grant = cutGrant({ scopes: asked, projects: namedProjects(spec.projects) }, by);
  if (asked.length > 0 && grant.scopes.length === 0) {
    return refused({
      code: 'Forbidden',
      message: `none of the scopes asked for is yours to give: ${asked.join(', ')}`,
    });
  }
  if (grant.projects?.length === 0) {
    return refused({ code: 'Forbidden', message: 'none of the projects asked for is yours to give' });
  }
  const expires = spec.expirationTime === undefined ? undefined : parseTime(spec.expirationTime);
  if (expires !== undefined && expires <= context.now) {
    return refused({
      code: 'Invalid',
      message: `APIKey "${here.address.name}" is invalid`,
      causes: [{ field: 'spec.expirationTime', message: 'must be in the future', reason: 'FieldValueInvalid' }],
    });
  }
  const beyond = outlives(by, expires, {
    field: 'spec.expirationTime',
    what: `APIKey "${here.address.name}"`,
    fix: (end) => `Set spec.expirationTime to ${end} at the latest.`,
  });
  if (beyond !== undefined) return refused(beyond);
  const bearer = makeBearer((length) => context.randomBytes(length));
  const projects = grant.projects === undefined ? {} : { projects: grant.projects };
  const bound = boundBy(acting, by);
  const effects: Effect[] = [
    {
      type: 'GrantCredential',
      sha256: bearer.sha256,
      ...(expires === undefined ? {} : { expires }),
      detail: { actsAs: acting, scopes: grant.scopes, ...projects, ...bound },
    },
  ];
  if (expires !== undefined) effects.push({ type: 'ArmTimer', timer: EXPIRY, at: expires });
  const { member: _member, serviceAccount: _account, ...rest } = spec;
  return next<APIKeyStatus>(
    {
      ...status,
      phase: 'Active',
      prefix: bearer.value.slice(0, bearer.value.indexOf('_') + 1 + SHOWN),
      createdBy: by.name,
      ...(bound.boundTo === undefined ? {} : { boundTo: bound.boundTo }),
    },
    { spec: { ...rest, ...acting, scopes: grant.scopes, ...projects }, effects, reveal: { key: bearer.value } },
  );
}

export const apiKeyMachine: Machine<APIKeySpec, APIKeyStatus, undefined, undefined, never> = {
  decide(current, _side, message, context) {
    const { status } = current.object;
    switch (message.type) {
      case 'Created':
        return message.by === undefined
          ? refused({ code: 'Forbidden', message: 'a key is made on behalf of somebody' })
          : create(current, message.by, context);
      case 'TimerFired':
        if (message.timer !== EXPIRY || status.phase === 'Expired') return IGNORED;
        return next<APIKeyStatus>({ ...status, phase: 'Expired' }, { effects: [{ type: 'RevokeCredentials' }] });
      case 'MessageReceived':
        return message.content.type === 'Used' ? noteUse(current, message.content.time) : IGNORED;
      default:
        return plain(current, message);
    }
  },
};
