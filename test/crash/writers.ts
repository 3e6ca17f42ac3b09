/**
 * The writers of the crash test. Each has names of its own, so it knows what must be there: it creates, patches and
 * deletes, one request at a time, and remembers each acknowledged version.
 *
 * A request whose answer was lost has an unknown fate. Half of the writers send it again under the same Idempotency-Key,
 * and the answer settles it; the others look whether it was carried out. Both must then agree with what watchers saw.
 */
import { OUTCOME_UNKNOWN } from '../../src/api/unknown-outcome.js';
import { again } from '../e2e/again.js';
import { type Answer, type Client, numberAt, objectOf, path, textAt } from '../e2e/client.js';
import type { Chance } from './chance.js';

export const PROJECT = 'default';
export const COLLECTION = path('serviceaccounts', PROJECT);

export interface Acknowledged {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly name: string;
  readonly version: number;
  /** Text that this write put into the object; undefined for a delete. */
  readonly mark: string | undefined;
}

export interface Writer {
  /** Every write that is known to have been carried out. */
  readonly acknowledged: readonly Acknowledged[];
  /** Answers that must not be: 500s, refusals of what is right. */
  readonly wrong: readonly string[];
  /** Name → mark of what must be there now. */
  readonly there: ReadonlyMap<string, string>;
  readonly names: readonly string[];
  /** Runs until told to stop; the write under way is settled first. */
  run(stop: AbortSignal): Promise<void>;
}

/** A service that does not answer for this long is not coming back. */
const LOST_MS = 90_000;

type Plan = { readonly type: Acknowledged['type']; readonly name: string; readonly mark: string | undefined };

export function openWriter(id: number, makeClient: () => Client, chance: Chance, keyed: boolean): Writer {
  const names = Array.from({ length: 5 }, (_, each) => `w${id}-${each}`);
  const there = new Map<string, string>();
  const acknowledged: Acknowledged[] = [];
  const wrong: string[] = [];
  let count = 0;

  const choose = (): Plan => {
    const name = names[chance.below(names.length)] ?? '';
    count += 1;
    const mark = `${id}.${count}`;
    if (!there.has(name)) return { type: 'ADDED', name, mark };
    return chance.is(0.25) ? { type: 'DELETED', name, mark: undefined } : { type: 'MODIFIED', name, mark };
  };

  const send = (plan: Plan, headers: Record<string, string>): Promise<Answer> => {
    const client = makeClient();
    const object = `${COLLECTION}/${plan.name}`;
    if (plan.type === 'ADDED') {
      return client.post(COLLECTION, objectOf('ServiceAccount', plan.name, { description: plan.mark }), headers);
    }
    if (plan.type === 'DELETED') return client.remove(object, undefined, headers);
    return client.merge(object, { spec: { description: plan.mark } }, headers);
  };

  const accept = (plan: Plan, version: number): void => {
    acknowledged.push({ ...plan, version });
    if (plan.mark === undefined) there.delete(plan.name);
    else there.set(plan.name, plan.mark);
  };

  /** Sends it until there is an answer that settles it. */
  const insist = async (plan: Plan): Promise<void> => {
    const headers: Record<string, string> = keyed ? { 'idempotency-key': `${id}-${count}` } : {};
    const end = performance.now() + LOST_MS;
    const pauses = again();
    let unknown = false;
    for (;;) {
      if (performance.now() > end) throw new Error(`writer ${id}: no answer for ${LOST_MS} ms`);
      const answer = await send(plan, headers).catch(() => undefined);
      if (answer === undefined || answer.text.includes(OUTCOME_UNKNOWN)) {
        unknown = true;
        if (!keyed) {
          if (await lookedUp(plan, end)) return;
          unknown = false;
        }
      } else if (answer.status === 200 || answer.status === 201) {
        accept(plan, numberAt(answer.body, 'metadata', 'resourceVersion'));
        return;
      } else if (answer.status === 503 || answer.status === 429) {
        // Certainly not carried out.
      } else if (answer.status === 409 && textAt(answer.body, 'reason') === 'RequestInProgress') {
        unknown = true;
      } else {
        const after = unknown ? ' after an unknown outcome' : '';
        wrong.push(`${plan.type} ${plan.name}${after}: ${answer.status} ${answer.text.slice(0, 300)}`);
        return;
      }
      await pauses.pause();
    }
  };

  /** Without a key: was the lost request carried out? True when it was. */
  const lookedUp = async (plan: Plan, end: number): Promise<boolean> => {
    const pauses = again();
    for (;;) {
      if (performance.now() > end) throw new Error(`writer ${id}: no answer for ${LOST_MS} ms`);
      await pauses.pause();
      const read = await makeClient()
        .get(`${COLLECTION}/${plan.name}`)
        .catch(() => undefined);
      if (read === undefined || read.status === 503) continue;
      const now = read.status === 404 ? undefined : textAt(read.body, 'spec', 'description');
      if (read.status !== 200 && read.status !== 404) {
        wrong.push(`GET ${plan.name}: ${read.status} ${read.text.slice(0, 300)}`);
        return true;
      }
      if (now === there.get(plan.name)) return false;
      if (now !== plan.mark) {
        wrong.push(`${plan.name} holds ${now}; it should hold ${there.get(plan.name)} or ${plan.mark}`);
        return true;
      }
      // A delete's version is not to be read any more; watchers know it.
      accept(plan, plan.mark === undefined ? Number.NaN : numberAt(read.body, 'metadata', 'resourceVersion'));
      return true;
    }
  };

  return {
    acknowledged,
    wrong,
    there,
    names,
    async run(stop) {
      while (!stop.aborted) await insist(choose());
    },
  };
}
