/**
 * Opens the SSH server with its host key. Only the leader opens it, so that its port is free for the next one. When the host key
 * does not open or the port is taken, the rest of the service goes on, and the log and each Workspace say why there is no SSH. A
 * default port that is taken is replaced by any free one.
 */
import ssh2 from 'ssh2';
import type { Config } from '../config.js';
import { SETTINGS } from '../settings.js';
import type { PublicEndpoints } from '../kinds/machine.js';
import { openAuthorization } from '../../http/ssh/authorization.js';
import { membersOf } from '../../http/ssh/members.js';
import { openSshServer, type SshServer } from '../../http/ssh/server.js';
import type { MasterKeys } from '../../storage/envelope/master-key.js';
import type { Store } from '../../storage/open.js';
import { serviceKey } from '../../storage/service-keys.js';
import type { LeaderFacade } from './leader-facade.js';
import { hostOf, reachable } from './host.js';
import type { Log } from './log.js';
import { newSshKey } from './ssh-key.js';

export interface Ssh {
  /** Undefined: there is no SSH, for the reason in `facts`. */
  readonly server: SshServer | undefined;
  readonly facts: Pick<PublicEndpoints, 'ssh' | 'sshClosed'>;
}

/** The setting that the operator changes when there is no SSH. */
const SETTING = 'TROUPE_SSH_PORT';

/** A login waits so long for the objects that it is judged by, ms. */
const READ_MS = 5_000;

export async function openSsh(
  config: Config,
  store: Store,
  keys: MasterKeys,
  facade: Pick<LeaderFacade, 'resources' | 'commands'>,
  log: Log,
): Promise<Ssh> {
  if (config.sshPort === 'off') {
    return closed('TurnedOff', `SSH is turned off by the operator (${SETTING})`);
  }
  try {
    const hostKey = await hostKeyOf(store, keys);
    const { resources, commands: inside } = facade;
    const authorization = openAuthorization({
      read: (address) => resources.read(address, AbortSignal.timeout(READ_MS)),
      members: membersOf(resources),
    });
    const openAt = (port: number): Promise<SshServer> =>
      openSshServer({ ...{ host: config.host, port, hostKey: hostKey.private, authorization, inside, log } });
    const server = await openAt(config.sshPort).catch((error: unknown) => {
      // Only the port that stands in the settings by itself: one that was chosen stands in people's commands and firewalls.
      if (!isTaken(error) || String(config.sshPort) !== SETTINGS.sshPort.default) throw error;
      log.warn(
        { port: config.sshPort, setting: SETTING },
        'another program listens on the port for SSH: any free one is taken',
      );
      return openAt(0);
    });
    const host = config.publicUrl === undefined ? reachable(config.host) : hostOf(config.publicUrl);
    log.info(`listening on ssh://${reachable(config.host)}:${server.port}, for Workspaces`);
    return { server, facts: { ssh: { host, port: server.port, hostKey: hostKey.public } } };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown';
    log.warn({ reason, setting: SETTING }, 'the SSH server stays closed');
    return isTaken(error)
      ? closed(
          'PortTaken',
          `another program listens on port ${config.sshPort} of this machine, and SSH to that port reaches that program; ` +
            `the operator frees the port or sets ${SETTING}, and restarts the service`,
        )
      : closed('DoorClosed', `SSH could not be opened; the operator finds the reason in the log of the service`);
  }
}

const closed = (reason: string, message: string): Ssh => ({
  server: undefined,
  facts: { sshClosed: { reason, message } },
});

const isTaken = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';

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
