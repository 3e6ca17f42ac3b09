/** Measures what a create's checks cost: from a parsed body to a whole object, in this process, for every kind. */
import { randomUUID } from 'node:crypto';
import type { Figure, Part } from '../figure.js';
import { round } from '../numbers.js';
import { SPECIMEN_BYTES, specimen } from '../specimens.js';
import type { Address } from '../../../src/api/address.js';
import { KINDS } from '../../../src/kinds/index.js';
import type { KindDefinition } from '../../../src/kinds/kind.js';
import { prepareCreate } from '../../../src/kinds/write/create.js';
import type { WriteContext } from '../../../src/kinds/write/prepared.js';

/** The least disturbed round says most: the machine is not ours alone. */
const ROUNDS = 7;
const WARM_UP = 3_000;
const CALLS = 5_000;
/** Kinds that are shown by name. */
const SHOWN = 5;

export const validate: Part = {
  name: 'validate',
  about: `the checks of a create, of ${SPECIMEN_BYTES} bytes of every kind, in processor time`,
  run: async () => {
    const costs = KINDS.flatMap((kind) => {
      const body = specimen(kind, 'measured');
      return body === undefined ? [] : [{ kind: kind.kind, cost: costOf(kind, body) }];
    }).toSorted((a, b) => b.cost - a.cost);
    const middle = costs[Math.floor(costs.length / 2)]?.cost ?? Number.NaN;
    const figures: Figure[] = costs.slice(0, SHOWN).map(({ kind, cost }, n) => ({
      name: `validate a ${kind}${n === 0 ? ', the largest' : ''}`,
      value: round(cost),
      unit: 'µs',
      ...(n === 0 ? { atMost: 25 } : {}),
    }));
    return [
      ...figures,
      { name: `validate, the middle one of ${costs.length} kinds`, value: round(middle), unit: 'µs' },
    ];
  },
};

/** µs of processor time. */
function costOf(kind: KindDefinition, body: Readonly<Record<string, unknown>>): number {
  const project = kind.scope === 'project' ? 'default' : '';
  const address: Address = { org: 'bench', kind: kind.kind, project, name: 'measured' };
  let now = Date.now();
  const ctx = (): WriteContext => ({
    // A thousand creates share a second, as they do in a busy service.
    context: { now: (now += 1), uid: randomUUID, randomBytes: (length) => new Uint8Array(length) },
    fieldValidation: 'Strict',
    fieldManager: 'bench',
    dryRun: true,
    duplicates: [],
  });
  const create = (): void => {
    const made = prepareCreate(kind, address, body, ctx());
    if (made.outcome === 'Refused') throw new Error(`${kind.kind}: ${made.refusal.message}`);
  };
  for (let n = 0; n < WARM_UP; n += 1) create();
  let best = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < ROUNDS; turn += 1) {
    const before = process.cpuUsage();
    for (let n = 0; n < CALLS; n += 1) create();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / CALLS);
  }
  return best;
}
