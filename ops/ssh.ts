/**
 * Owns the opening of the SSH door: its host key, who stands behind it, and what it is told. Undefined when it is off by
 * setting, or when its key does not open or its port is taken: then the rest of the service goes on and the log says so.
 */
import ssh2 from 'ssh2';
import type { Config } from '../src/config.js';
import type { Doors } from '../src/kinds/machine.js';
import { openGuests } from '../http/ssh/guests.js';
import { membersOf } from '../http/ssh/members.js';
import { openSshDoor, type SshDoor } from '../http/ssh/server.js';
import type { MasterKeys } from '../storage/envelope/master-key.js';
import type { Store } from '../storage/open.js';
import { serviceKey } from '../storage/service-keys.js';
import type { Front } from './front.js';
import { hostOf, reachable } from './host.js';
import type { Log } from './log.js';
import { newSshKey } from './ssh-key.js';

export interface Ssh {
  readonly door: SshDoor;
  /** For `Doors`. */
  readonly facts: NonNullable<Doors['ssh']>;
}

/** A login waits so long for the objects that it is judged by, ms. */
const READ_MS = 5_000;

export async function openSsh(
  config: Config,
  store: Store,
  keys: MasterKeys,
  front: Pick<Front, 'stage' | 'commands'>,
  log: Log,
): Promise<Ssh | undefined> {
  if (config.sshPort === 'off') return undefined;
  try {
    const hostKey = await hostKeyOf(store, keys);
    const { stage, commands: inside } = front;
    const guests = openGuests({
      read: (address) => stage.read(address, AbortSignal.timeout(READ_MS)),
      members: membersOf(stage),
    });
    const door = await openSshDoor({
      ...{ host: config.host, port: config.sshPort, hostKey: hostKey.private, guests, inside, log },
    });
    const host = config.publicUrl === undefined ? reachable(config.host) : hostOf(config.publicUrl);
    const facts = { host, port: door.port, hostKey: hostKey.public };
    log.info(`listening on ssh://${reachable(config.host)}:${facts.port}, for Workspaces`);
    return { door, facts };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown';
    log.warn({ reason, setting: 'TROUPE_SSH_PORT' }, 'the SSH door stays closed');
    return undefined;
  }
}

interface HostKey {
  /** OpenSSH's own form. */
  readonly private: string;
  /** `ssh-ed25519 AAAA…`. */
  readonly public: string;
}

async function hostKeyOf({ postgres }: Store, keys: MasterKeys): Promise<HostKey> {
  const made = (): Buffer => Buffer.from(newSshKey());
  const text = (await serviceKey(postgres, keys, 'ssh-host-ed25519', made)).toString();
  const parsed = ssh2.utils.parseKey(text);
  if (parsed instanceof Error) throw new Error('the host key cannot be read');
  return { private: text, public: `${parsed.type} ${parsed.getPublicSSH().toString('base64')}` };
}
