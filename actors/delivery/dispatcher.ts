/**
 * Makes deliveries out of events: takes the outbox in the order of commits, matches each event with the endpoints
 * of its org, and hands what was written to the sender. Woken after a commit that emitted something; a slow sweep finds
 * what a crash left behind.
 *
 * Events are taken up to the version that `endpoints` knows, so an event never meets an older state than its own commit's. It may meet a
 * newer one; but what was emitted while an endpoint was paused, or before it was there, is not for it.
 * I5: a delivery is named by its event and endpoint, and is written in the statement that removes the event's row.
 */
import { apiVersionOf } from '../../src/kinds/versions.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { deliveryBody } from '../../src/kinds/webhookendpoint/body.js';
import type { PendingDelivery } from '../../storage/webhooks/deliveries.js';
import { deliveryId } from '../../storage/webhooks/ids.js';
import type { Dispatch, Outbox, OutboxRow } from '../../storage/webhooks/outbox.js';
import { delay } from '../wait.js';
import { ENDPOINT, type Endpoint, type Endpoints } from './endpoints.js';

/** Rows read at once, and deliveries (about) and characters of bodies written at once. */
const ROWS = 500;
const MOST_DELIVERIES = 2_000;
const MOST_CHARACTERS = 8 * 2 ** 20;
const SWEEP_MS = 5_000;
const AGAIN_MS = 500;

const PING = 'webhookendpoint.ping';

export interface DispatcherDeps {
  readonly outbox: Outbox;
  readonly endpoints: Endpoints;
  readonly epoch: number;
  readonly kindOf: (name: string) => KindDefinition | undefined;
  /** They are written and due. */
  onDispatched(deliveries: readonly PendingDelivery[]): void;
  onProblem(message: string): void;
  readonly stopping: AbortSignal;
}

export interface Dispatcher {
  /** Something was emitted. */
  wake(): void;
  /** Age of the last round that went well (ms): no more than a few seconds (I13). */
  idleMs(): number;
  /** Resolves after the stop, when nothing is in hand. */
  readonly ended: Promise<void>;
}

export function openDispatcher(deps: DispatcherDeps): Dispatcher {
  const { outbox, endpoints, epoch, stopping } = deps;
  let woken = false;
  let wentWell = performance.now();
  /** Ends the pause between two rounds: at a wake-up, and at the stop. */
  let pausing = new AbortController();

  async function run(): Promise<void> {
    while (!stopping.aborted) {
      woken = false;
      let pause = SWEEP_MS;
      try {
        const more = await round();
        wentWell = performance.now();
        if (more) continue;
      } catch (error) {
        if (stopping.aborted) return;
        deps.onProblem(`webhooks: ${error instanceof Error ? error.message : 'events cannot be read'}`);
        pause = AGAIN_MS;
      }
      if (woken || stopping.aborted) continue;
      pausing = new AbortController();
      await delay(pause, pausing.signal);
    }
  }

  /** True when there may be more. */
  async function round(): Promise<boolean> {
    const rows = await outbox.take(endpoints.version(), ROWS);
    for (let at = 0; at < rows.length && !stopping.aborted;) {
      const group: Dispatch[] = [];
      let deliveries = 0;
      let characters = 0;
      for (; at < rows.length && deliveries < MOST_DELIVERIES && characters < MOST_CHARACTERS; at += 1) {
        const row = rows[at];
        if (row === undefined) break;
        const made = dispatchOf(row);
        group.push(made);
        deliveries += made.deliveries.length;
        characters += made.body.length * made.deliveries.length;
      }
      const written = await outbox.dispatch(epoch, group);
      deps.onDispatched(group.flatMap((made) => pendingOf(made, written)));
    }
    return rows.length > 0;
  }

  function dispatchOf(row: OutboxRow): Dispatch {
    const { version, uid, event, reason, count, time } = row;
    const deliveries = receiversOf(row, endpoints).map((endpoint) => ({
      id: deliveryId(time, [version, uid, event, reason, count, endpoint.uid]),
      endpoint: endpoint.uid,
    }));
    return { row, body: deliveries.length === 0 ? '' : bodyOf(row), deliveries };
  }

  function bodyOf({ kind, name, project, uid, event, reason, message, status, count, time }: OutboxRow): string {
    const definition = deps.kindOf(kind);
    const apiVersion = definition === undefined ? '' : apiVersionOf(definition);
    const shown: Record<string, unknown> = JSON.parse(status);
    const object = { apiVersion, kind, name, project, uid, status: shown };
    return deliveryBody({ type: event, time, reason, message, count, object });
  }

  stopping.addEventListener('abort', () => pausing.abort(), { once: true });
  const ended = run();
  return {
    wake() {
      woken = true;
      pausing.abort();
    },
    idleMs: () => performance.now() - wentWell,
    ended,
  };
}

/** A ping is for the endpoint that it is about, whatever that one asked for; not while it is paused. */
function receiversOf({ org, version, event, project, kind, uid }: OutboxRow, endpoints: Endpoints): Endpoint[] {
  if (event === PING && kind === ENDPOINT) {
    const own = endpoints.get(uid);
    return own?.open ? [own] : [];
  }
  return [...endpoints.of(org)].filter(
    (endpoint) => version >= endpoint.openSince && endpoint.matches({ event, project }),
  );
}

function pendingOf({ row, body, deliveries }: Dispatch, written: ReadonlySet<string>): PendingDelivery[] {
  const { org, event, time } = row;
  return deliveries
    .filter(({ id }) => written.has(id))
    .map(({ id, endpoint }) => ({ id, org, endpoint, event, attempts: 0, time, body }));
}
