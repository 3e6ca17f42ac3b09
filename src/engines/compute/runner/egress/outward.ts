/**
 * Owns the outward way of one piece of work, from its door to the proxy, and its log: container `network`, bounded as those of its
 * programs. The proxy itself is loaded with the first connection: most work never makes one, and what the runner holds in memory is
 * paid for with each fork.
 */
import { createServer, type Server } from 'node:net';
import type { WorkNetwork } from '../../engine.js';
import type { Egress, EgressOptions } from '../../egress/open.js';
import type { Doors, Listening } from './door.js';

/** Name of its log. No program of work may have it. */
export const NETWORK_LOG = 'network';

/** What a connection says at its end is waited for so long, at most. */
const CLOSE_MS = 1_000;

export interface OutwardDeps {
  readonly doors: Pick<Doors, 'open' | 'refusal'>;
  readonly lookup: EgressOptions['lookup'];
}

export class Outward {
  private readonly network: WorkNetwork;
  private readonly allow: readonly string[];
  private readonly deps: OutwardDeps;
  private readonly log: (line: string) => void;
  private egress: Promise<Egress> | undefined;
  private server: Server | undefined;
  private closed = false;

  /** `allow`: special addresses that may be reached all the same. */
  constructor(network: WorkNetwork, allow: readonly string[], deps: OutwardDeps, log: (line: string) => void) {
    this.network = network;
    this.allow = allow;
    this.deps = deps;
    this.log = log;
  }

  /** For the box with this first process, before anything in it could look for its proxy. Rejects with why it cannot be. */
  async open(pid: number): Promise<void> {
    this.serve(await this.deps.doors.open(pid));
  }

  /** Through a door that is there already. */
  serve(door: Listening): void {
    if (this.closed) return door.close();
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      socket.on('error', () => undefined);
      this.egress ??= this.load();
      void this.egress.then((egress) => {
        if (this.closed) socket.destroy();
        else egress.serve(socket);
      });
    });
    // Too many open files: the connection is refused, and nothing else.
    this.server.on('error', () => undefined);
    this.server.listen(door);
  }

  /** Takes the door away and ends what came through it: what is left of the box's network goes with that. Resolves when all
   * of it is in the log. */
  async close(): Promise<void> {
    this.closed = true;
    this.server?.close();
    const closed = this.egress?.then((egress) => egress.close());
    if (closed === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MS)));
    await Promise.race([closed, late]);
    clearTimeout(timer);
  }

  private async load(): Promise<Egress> {
    const [{ openEgress }, { allowAddresses }] = await Promise.all([
      import('../../egress/open.js'),
      import('../../../dialer/special-addresses.js'),
    ]);
    const { network, log } = this;
    return openEgress({ network, log, lookup: this.deps.lookup, allowed: allowAddresses(this.allow) });
  }
}
