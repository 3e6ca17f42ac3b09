/**
 * The ways out of boxes: the same proxy process as the embedded engine's, started by the service, behind a socket that listens on the box's
 * own loopback and is made from outside. The container has no network, so nothing else leads out: neither to the host, nor to neighbours,
 * nor to what a bridge would reach. It takes root on the daemon's machine; elsewhere such work is refused, never run without its policy.
 */
import { join } from 'node:path';
import { API_SOCKET } from '../../../brand.js';
import { findProgram } from '../shared/find-program.js';
import { ProxyListeners } from '../shared/egress/proxy-listener.js';
import { EgressSession } from '../shared/egress/egress-session.js';
import { ProxyProcess } from '../shared/egress/proxy-process.js';
import type { Box } from './box.js';

export class EgressProxies {
  private readonly allow: readonly string[];
  private readonly endpoints = new ProxyListeners({
    perl: findProgram('perl'),
    architecture: process.arch,
    bringUp: false,
  });
  private readonly proxy: ProxyProcess;

  /** `allow`: special addresses that may be reached all the same. */
  constructor(allow: readonly string[], report: (line: string) => void) {
    this.allow = allow;
    this.proxy = new ProxyProcess({ report });
  }

  /** For a box whose container runs, before anything of the work does. Throws an Error that says why it cannot be. */
  async open(box: Box): Promise<void> {
    const { network } = box.kept;
    if (network === undefined || network.egress === 'Deny') return;
    const { endpoints } = this;
    if (endpoints.refusal !== undefined) throw new Error(endpoints.refusal);
    if (process.getuid?.() !== 0)
      throw new Error('work in containers can have a network only where the service is root');
    const { Pid: pid } = (await box.container.inspect()).State;
    if (pid === 0) throw new Error('the container does not run');
    const { proxy } = this;
    await box.openOutward(pid, new EgressSession(network, this.allow, { endpoints, proxy }, (line) => box.note(line)));
  }

  /** Serves the attempt API, which the service has in `service`, in a directory that the box of this work is shown. */
  relay(directory: string, service: string, work: string): Promise<void> {
    return this.proxy.relay(directory, { service: join(service, API_SOCKET), work });
  }

  unrelay(directory: string): void {
    this.proxy.unrelay(directory);
  }

  close(): void {
    this.endpoints.close();
    this.proxy.close();
  }
}
