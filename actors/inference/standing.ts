/**
 * Tells Models whether something serves them, and InferenceEndpoints how the Model that they name stands, once a second where that has
 * changed. What was not heard is said again in the next round.
 *
 * I10: at most MOST_KNOWN endpoints are known, those beyond it are told nothing until one goes; at most MOST_TOLD messages a round.
 */
import type { Address } from '../../src/api/address.js';
import { CATALOG_ORG, CATALOG_PROJECT } from '../../src/brand.js';
import type { ModelStanding } from '../../src/engines/inference/router.js';
import { isDeprecated } from '../../src/kinds/model/availability.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import type { MessageRouter } from '../message-router.js';
import { tick } from '../money/ticker.js';
import type { Directory, ModelView } from './directory.js';

const EVERY_MS = 1_000;
const MOST_KNOWN = 100_000;
const MOST_TOLD = 500;

interface KnownEndpoint {
  readonly address: Address;
  readonly model: string;
  /** What it was told last, as text. */
  told: string | undefined;
}

export interface StandingDeps {
  standing(): readonly ModelStanding[];
  readonly directory: Pick<Directory, 'model' | 'models'>;
  readonly send: MessageRouter['send'];
  /** ms since the epoch. */
  clock(): number;
  onProblem(message: string): void;
}

export interface Standing {
  /** There is such an endpoint, and it names this Model. */
  know(address: Address, uid: string, model: string): void;
  forget(uid: string): void;
  /** Goes on until `stopping` is aborted; resolves then. */
  run(stopping: AbortSignal): Promise<void>;
}

export function openStanding({ standing, directory, send, clock, onProblem }: StandingDeps): Standing {
  const endpoints = new Map<string, KnownEndpoint>();
  /** By uid of the Model. */
  const models = new Map<string, string>();

  function tell(address: Address, uid: string, message: ObjectMessage, unsaid: () => void): void {
    void send(address, uid, message).then((delivery) => {
      if (delivery !== 'Done' && delivery !== 'Absent') unsaid();
    });
  }

  function tellModels(byName: ReadonlyMap<string, ModelStanding>): void {
    for (const { name, uid } of directory.models()) {
      const { available = false, message = 'no route serves this model' } = byName.get(name) ?? {};
      const text = `${available} ${message}`;
      if (models.get(uid) === text) continue;
      models.set(uid, text);
      const address = { org: CATALOG_ORG, kind: 'Model', project: CATALOG_PROJECT, name };
      tell(address, uid, { type: 'ServingObserved', available, message }, () => models.delete(uid));
    }
  }

  async function round(): Promise<void> {
    const byName = new Map(standing().map((one) => [one.model, one]));
    tellModels(byName);
    let left = MOST_TOLD;
    for (const [uid, entry] of endpoints) {
      const message = observed(directory.model(entry.model), byName, clock());
      const text = JSON.stringify(message);
      if (entry.told === text) continue;
      if (left-- === 0) return;
      entry.told = text;
      tell(entry.address, uid, message, () => (entry.told = undefined));
    }
  }

  return {
    know(address, uid, model) {
      const before = endpoints.get(uid);
      if (before?.model === model || (before === undefined && endpoints.size >= MOST_KNOWN)) return;
      endpoints.set(uid, { address, model, told: undefined });
    },
    forget: (uid) => void endpoints.delete(uid),
    run: (stopping) => tick({ every: EVERY_MS, round, onProblem }, stopping),
  };
}

function observed(
  model: ModelView | undefined,
  byName: ReadonlyMap<string, ModelStanding>,
  now: number,
): ObjectMessage {
  if (model === undefined) {
    const message = 'the catalog has no such model any more';
    return { type: 'ModelObserved', available: false, reason: 'ModelNotFound', message };
  }
  const { name, spec } = model;
  if (isDeprecated(spec, now)) {
    const message = `its model is served no more since ${spec.deprecationTime}`;
    return { type: 'ModelObserved', model: name, available: false, reason: 'Deprecated', message };
  }
  const { available = false, message = 'no route serves this model' } = byName.get(name) ?? {};
  const reason = available ? 'Served' : 'UpstreamUnavailable';
  return { type: 'ModelObserved', model: name, available, reason, message };
}
