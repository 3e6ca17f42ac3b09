/**
 * Replaces a runner that an older program has left. It goes on for as long as it has work; an order that it could not carry out
 * as meant waits until then, and by that order it is replaced: a runner that serves a connection never ends by itself.
 *
 * No start is under way while it is asked whether it has work, and none begins before the next runner is there: so none is lost with it.
 */
import type { WorkState } from '../contract/engine.js';
import type { Connection } from './connection.js';
import type { Link } from './link.js';
import { EngineRefusal } from '../shared/refusal.js';

export class Replacement {
  private readonly link: Link;
  private starting = 0;
  private replacing: Promise<boolean> | undefined;

  constructor(link: Link) {
    this.link = link;
  }

  /** Begins with a runner that speaks at least this version, or throws EngineRefusal (Unavailable) with what an older one lacks. */
  async start(version: number, lacks: string, begin: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.replacing;
      const connection = await this.link.connection(signal);
      if (this.replacing !== undefined) continue;
      if (connection.welcome.version >= version) break;
      this.replacing = this.replace(connection, signal);
      const replaced = await this.replacing.finally(() => {
        this.replacing = undefined;
      });
      if (!replaced) throw new EngineRefusal('Unavailable', lacks);
    }
    this.starting++;
    try {
      await begin();
    } finally {
      this.starting--;
    }
  }

  /** False: it has work, or may be getting some. */
  private async replace(connection: Connection, signal: AbortSignal): Promise<boolean> {
    if (this.starting > 0) return false;
    const states = (await connection.ask({ op: 'list' }, signal)) as readonly WorkState[];
    if (states.some(({ phase }) => phase === 'Preparing' || phase === 'Running')) return false;
    process.kill(connection.welcome.pid, 'SIGTERM');
    await connection.closed;
    return true;
  }
}
