/**
 * The SSH server: the port, how many connections may be open, and the way from a socket to a connection of the library. Who may
 * come in, and what is behind the door, are `SshDeps`.
 *
 * Bounds (I10) are `SshBounds`; who comes beyond them is closed without a word, as sshd does. Scanners and garbage cost a socket
 * for at most `loginMs`.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import ssh2, { type Connection, type ClientInfo } from 'ssh2';
import type { Address } from '../../src/api/address.js';
import { receive, type SshConnection } from './connection.js';
import { BOUNDS, type SshBounds, type SshDeps } from './deps.js';

export interface SshServer {
  readonly port: number;
  /** A Workspace or a Member has changed or is gone: the connections that it let in are checked again. */
  changed(address: Pick<Address, 'org' | 'kind' | 'project' | 'name'>): void;
  /** Ends what is open; the door itself stays. */
  endAll(why: string): void;
  close(): Promise<void>;
}

/** Says nothing about versions: who scans for them learns only what it is. */
const IDENT = 'Troupe';

export async function openSshDoor(deps: SshDeps): Promise<SshServer> {
  const bounds: SshBounds = { ...BOUNDS, ...deps.bounds };
  const sockets = new Set<Socket>();
  const perAddress = new Map<string, number>();
  /** Accepted, and not heard of yet, by their remote end. */
  const arriving = new Map<string, Socket>();
  const visits = new Set<SshConnection>();
  let strangers = 0;

  // Compression is out: a few bytes that unpack to many are not worth what it saves.
  const library = new ssh2.Server({
    hostKeys: [deps.hostKey],
    ident: IDENT,
    algorithms: { compress: ['none'] },
  });
  library.on('error', () => undefined);
  library.on('connection', (client: Connection, { ip, port }: ClientInfo) => {
    client.on('error', () => undefined);
    const socket = arriving.get(remoteEnd(ip, port));
    if (socket === undefined) {
      client.end();
      return;
    }
    welcome(client, socket);
  });

  function accept(socket: Socket): void {
    const ip = socket.remoteAddress ?? '';
    const held = perAddress.get(ip) ?? 0;
    const full = sockets.size >= bounds.connections || strangers >= bounds.strangers;
    socket.on('error', () => undefined);
    if (ip === '' || full || held >= bounds.connectionsPerAddress) {
      socket.destroy();
      return;
    }
    const key = remoteEnd(ip, socket.remotePort ?? 0);
    sockets.add(socket);
    perAddress.set(ip, held + 1);
    arriving.set(key, socket);
    strangers += 1;
    const tooLate = setTimeout(() => socket.destroy(), bounds.loginMs);
    tooLate.unref();
    known.set(
      socket,
      once(() => {
        clearTimeout(tooLate);
        strangers -= 1;
      }),
    );
    socket.once('close', () => {
      known.get(socket)?.();
      sockets.delete(socket);
      arriving.delete(key);
      const left = (perAddress.get(ip) ?? 1) - 1;
      if (left > 0) perAddress.set(ip, left);
      else perAddress.delete(ip);
    });
    socket.setNoDelay(true);
    library.injectSocket(socket);
  }

  /** Called once when a client has logged in. */
  const known = new WeakMap<Socket, () => void>();

  function welcome(client: Connection, socket: Socket): void {
    const visit = receive(client, socket, {
      ...{ authorization: deps.authorization, inside: deps.inside, bounds },
      onLogin({ owner }) {
        known.get(socket)?.();
        const { org, project, name } = owner;
        deps.log.info({ org, project, workspace: name, from: socket.remoteAddress }, 'somebody came in by SSH');
      },
    });
    visits.add(visit);
    socket.once('close', () => visits.delete(visit));
  }

  const server = createServer({ keepAlive: true }, accept);
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    server.listen(deps.port, deps.host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
  // What another process has changed is heard of by nobody here.
  const checking = setInterval(() => {
    for (const visit of visits) void visit.reconsider();
  }, bounds.checkMs);
  checking.unref();
  server.on('error', (error) => deps.log.warn({ error: error.name }, 'the SSH door'));

  return {
    port,
    changed({ org, kind, project, name }) {
      for (const visit of visits) {
        const owner = visit.principal?.owner;
        if (owner?.org !== org) continue;
        if (kind === 'Workspace' && (owner.project !== project || owner.name !== name)) continue;
        void visit.reconsider();
      }
    },
    endAll(why) {
      for (const visit of visits) visit.end(why);
    },
    close() {
      clearInterval(checking);
      return new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      });
    },
  };
}

function remoteEnd(ip: string, port: number): string {
  return `${ip} ${port}`;
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}
