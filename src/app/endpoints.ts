/**
 * What a process opens and announces for people when it becomes the leader, and takes back when it no longer is: SSH, the first
 * Owner's key, and where it listens.
 */
import type { Config } from '../config.js';
import type { FrontEnd } from './front-end.js';
import type { LeaderFacade } from './leader-facade.js';
import type { LeadershipOptions } from './leadership.js';
import { announceListening } from './listening.js';
import type { Log } from './log.js';
import { isLocal } from './http-config.js';
import { openSsh, type Ssh } from './ssh.js';
import type { Storage } from './storage.js';
import { welcome } from './welcome.js';

export function openEndpoints(
  config: Config,
  { store, keys }: Pick<Storage, 'store' | 'keys'>,
  { http, listening, ca }: FrontEnd,
  facade: LeaderFacade,
  log: Log,
): Pick<LeadershipOptions, 'openEndpoints' | 'onChange' | 'onReady' | 'drain' | 'onEnd'> {
  let ssh: Ssh | undefined;
  return {
    async openEndpoints() {
      ssh = await openSsh(config, store, keys, facade, log);
      const base = config.publicUrl ?? listening.https ?? listening.http;
      const pages = config.publicUrl ?? (isLocal(config) ? listening.http : base);
      return { base, pages, toolDomain: config.toolDomain, ...ssh.facts };
    },
    onChange: facade.onChange(http.authenticator, { changed: (address) => ssh?.server?.changed(address) }),
    async onReady({ newOwnerKey }) {
      http.authenticator.forgetAll(); // what it knew is from before another process led
      const lines = await welcome({ dataDir: config.dataDir, listening, ca, newOwnerKey });
      await announceListening(config.dataDir, 'listening', listening);
      for (const line of lines) log.info(line);
    },
    async drain() {
      ssh?.server?.endAll('this service is stopping; connect again in a moment');
      await http.drain();
    },
    async onEnd() {
      await ssh?.server?.close();
      ssh = undefined;
      // On a full disk the old announcement stays until the next one.
      await announceListening(config.dataDir, 'standby', listening).catch(() => undefined);
    },
  };
}
