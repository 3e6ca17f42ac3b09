/**
 * The outward way of one piece of work, from its listener to the proxy process, and its log: container `network`, bounded as those of its
 * programs. Nothing that the work sends passes through this process.
 */
import type { WorkNetwork } from '../../contract/engine.js';
import type { ProxyListeners, Listening } from './proxy-listener.js';
import type { ProxiedBox, ProxyProcess } from './proxy-process.js';

/** Name of its log. No program of work may have it. */
export const NETWORK_LOG = 'network';

export interface EgressSessionDeps {
  readonly endpoints: Pick<ProxyListeners, 'open' | 'refusal'>;
  readonly proxy: ProxyProcess;
}

export class EgressSession {
  private readonly network: WorkNetwork;
  private readonly allow: readonly string[];
  private readonly deps: EgressSessionDeps;
  private readonly log: (line: string) => void;
  private box: ProxiedBox | undefined;
  private closed = false;

  /** `allow`: special addresses that may be reached all the same. */
  constructor(network: WorkNetwork, allow: readonly string[], deps: EgressSessionDeps, log: (line: string) => void) {
    this.network = network;
    this.allow = allow;
    this.deps = deps;
    this.log = log;
  }

  /** For the box with this first process, before anything in it could look for its proxy. Rejects with why it cannot be. */
  async open(pid: number): Promise<void> {
    this.serve(await this.deps.endpoints.open(pid));
  }

  /** Through a listener that is there already. */
  serve(listener: Listening): void {
    if (this.closed) return listener.close();
    this.box = this.deps.proxy.open(listener, this.network, this.allow, this.log);
  }

  /** Takes the listener away and ends what came through it: what is left of the box's network goes with that. Resolves when all
   * of it is in the log. */
  async close(): Promise<void> {
    this.closed = true;
    await this.box?.close();
  }
}
