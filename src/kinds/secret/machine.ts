/**
 * What a Secret does: a write that carries values becomes a new version, sealed in the same commit, and what is
 * stored of it is the names of its keys.
 *
 * I11: the decided object (spec, annotations, status) holds no value; values leave only through `SealSecret`.
 */
import type { Author } from '../../api/access/author.js';
import { rfc3339 } from '../../api/time.js';
import type { Effect } from '../effect.js';
import type { Current, Machine, DecisionContext } from '../machine.js';
import { IGNORED, next, noteUse, plain, type PlainDecision, refused } from '../plain-machine.js';
import { withoutAppliedValues } from './applied.js';
import type { SecretSizes, SecretSpec, SecretStatus } from './schema.js';
import { readValues, type ValuePlan } from './values.js';

type Here = Current<SecretSpec, SecretStatus, SecretSizes>;
type Decided = PlainDecision<SecretStatus, SecretSizes>;

/** Versions that are listed and kept. A running attempt has its values already; older ones are forgotten. */
const VERSIONS_KEPT = 10;

const NO_VALUES: ValuePlan = { keys: [], values: new Map(), kept: [], sizes: {} };

/** A write's outcome with the plan for its values; undefined: the version stays. */
function written(here: Here, plan: ValuePlan | undefined, by: Author | undefined, context: DecisionContext): Decided {
  const { object } = here;
  const folded = { spec: { type: object.spec.type }, annotations: withoutAppliedValues(object.metadata.annotations) };
  if (plan === undefined) {
    return next<SecretStatus, SecretSizes>(object.status, folded);
  }
  const before = object.status.version ?? 0;
  const version = before + 1;
  const effects: Effect[] = [
    {
      type: 'SealSecret',
      version,
      values: plan.values,
      ...(plan.kept.length > 0 ? { keep: { from: before, keys: plan.kept } } : {}),
    },
  ];
  const below = version - VERSIONS_KEPT + 1;
  if (below > 1) effects.push({ type: 'DropSecretVersions', below });
  const keys = [...plan.keys];
  const entry = {
    createTime: rfc3339(context.now),
    version,
    keys,
    ...(by === undefined ? {} : { createdBy: by.name }),
  };
  const versions = [entry, ...(object.status.versions ?? [])].slice(0, VERSIONS_KEPT);
  return next<SecretStatus, SecretSizes>(
    { ...object.status, phase: 'Ready', keys, version, versions },
    { ...folded, private: { sizes: plan.sizes }, effects },
  );
}

function decideWrite(here: Here, by: Author | undefined, context: DecisionContext, isNew: boolean): Decided {
  const reading = readValues(here.object.spec, here.private?.sizes ?? {});
  if (reading.reading === 'Invalid') {
    const message = `Secret "${here.address.name}" is invalid`;
    return refused({ code: 'Invalid', message, causes: reading.causes });
  }
  if (reading.reading === 'Changed') return written(here, reading.plan, by, context);
  // Version 1 exists from birth, with no keys if none came, so that it can be mounted.
  return written(here, isNew ? NO_VALUES : undefined, by, context);
}

export const secretMachine: Machine<SecretSpec, SecretStatus, SecretSizes, undefined, never> = {
  decide(current, _side, message, context) {
    switch (message.type) {
      case 'Created':
        return decideWrite(current, message.by, context, true);
      case 'Updated':
        return decideWrite(current, message.by, context, false);
      case 'MessageReceived':
        return message.content.type === 'Used' ? noteUse(current, message.content.time) : IGNORED;
      default:
        return plain(current, message);
    }
  },
};
