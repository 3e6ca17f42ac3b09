/** How tests of machines without a side state put a message to one: an object, an author and a fixed moment. */
import type { Author } from '../../src/api/access/author.js';
import type { ApiObject, ObjectMeta } from '../../src/api/object.js';
import type { Effect } from '../../src/kinds/effect.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Current, Decision, Message, DecisionContext } from '../../src/kinds/machine.js';

export const NOW = Date.parse('2026-01-02T03:04:05.678Z');

/** Random bytes that count up from `seed`, so that a test knows them. */
export function contextAt(now: number = NOW, seed = 0): DecisionContext {
  let ids = 0;
  return {
    now,
    uid: () => `uid-${(ids += 1)}`,
    randomBytes: (length) => Uint8Array.from({ length }, (_, index) => (seed + index) % 256),
  };
}

export const owner: Author = { name: 'ada@example.org', member: 'ada', scopes: ['*:*'] };

export function objectOf(kind: KindDefinition, spec: unknown, more: Partial<ObjectMeta> = {}): ApiObject {
  const base = {
    apiVersion: kind.group === 'core' ? 'v1' : 'svc.dev/v1',
    kind: kind.kind,
    metadata: { name: 'one', uid: 'uid-0', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z', ...more },
    spec: kind.schema.spec.parse(spec),
    status: {},
  };
  return { ...base, status: kind.initialStatus(base) };
}

export interface Stored {
  readonly object: ApiObject;
  readonly private: unknown;
}

/** An object and what its machine keeps beside it, at rest. */
export function at(object: ApiObject, kept?: unknown): Stored {
  return { object, private: kept };
}

export function ask(
  kind: KindDefinition,
  stored: Stored,
  message: Message,
  context = contextAt(),
  org = 'o-1',
): Decision<unknown, unknown, unknown> {
  const { name, namespace } = stored.object.metadata;
  const current: Current<unknown, unknown, unknown> = {
    address: { org, kind: kind.kind, project: namespace ?? '', name },
    object: stored.object,
    private: stored.private,
  };
  return kind.machine.decide(current, undefined, message, context);
}

export interface Next extends Stored {
  readonly effects: readonly Effect[];
  readonly reveal: Readonly<Record<string, unknown>>;
}

/** The decided object as it would be stored. Throws when the machine does not go on. */
export function decided(
  kind: KindDefinition,
  stored: Stored,
  message: Message,
  context = contextAt(),
  org = 'o-1',
): Next {
  const decision = ask(kind, stored, message, context, org);
  if (decision.outcome !== 'Next') throw new Error(`expected Next, got ${JSON.stringify(decision)}`);
  const { metadata } = stored.object;
  const object: ApiObject = {
    ...stored.object,
    metadata: {
      ...metadata,
      finalizers: decision.finalizers ?? metadata.finalizers,
      annotations: decision.annotations ?? metadata.annotations,
    },
    spec: decision.spec ?? stored.object.spec,
    status: decision.status,
  };
  return {
    object,
    private: decision.private ?? stored.private,
    effects: decision.effects,
    reveal: decision.reveal ?? {},
  };
}

export function refusalOf(kind: KindDefinition, stored: Stored, message: Message, org = 'o-1'): string {
  const decision = ask(kind, stored, message, contextAt(), org);
  return decision.outcome === 'Refused' ? decision.refusal.code : decision.outcome;
}
