/**
 * The SSH server: the port, how many connections may be open, and the way from a socket to a connection of the library. Who may
 * log in, and what they reach, are `SshDeps`.
 *
 * Bounds (I10) are `SshBounds`; who comes beyond them is closed without a word, as sshd does. Scanners and garbage cost a socket
 * for at most `loginMs`.
 *
 * A key exchange costs about a millisecond of the event loop, before anything is known of the client. So the algorithms are the
 * cheap ones that every client has, and a connection waits for one of `exchanges` places before the library hears of it; addresses
 * take turns, and one has at most as many places as it leaves free. The place is given back when the keys are exchanged, or
 * after `exchangeMs`, since a person may be asked about an unknown host key meanwhile.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import ssh2, { type Algorithms, type Connection, type ClientInfo } from 'ssh2';
import { OrgRoundRobin } from '../../actors/effects/org-round-robin.js';
import type { Address } from '../../src/api/address.js';
import { networkOf } from '../auth/addresses.js';
import { add, remove, sizeOf } from '../connections.js';
import { receive, type SshConnection } from './connection.js';
import { Intake } from './intake.js';
import { BOUNDS, type SshBounds, type SshDeps } from './deps.js';

export interface SshServer {
  readonly port: number;
  /** A Workspace or a Member has changed or is gone: the connections that it let in are checked again. */
  changed(address: Pick<Address, 'org' | 'kind' | 'project' | 'name'>): void;
  /** Ends what is open; the server itself goes on. */
  endAll(why: string): void;
  close(): Promise<void>;
}

/** Says nothing about versions: who scans for them learns only what it is. */
const IDENT = 'Troupe';

const ALGORITHMS: Algorithms = {
  // No finite fields: one exchange in the largest takes 16 ms, and the client need not calculate.
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org', 'ecdh-sha2-nistp256'],
  // No compression: a few bytes that unpack to many are not worth what it saves.
  compress: ['none'],
};

interface Arrival {
  readonly socket: Socket;
  /** The address, which takes turns here as orgs do elsewhere. */
  readonly org: string;
  /** Once the library hears of it. */
  intake?: Intake;
}

export async function openSshServer(deps: SshDeps): Promise<SshServer> {
  const bounds: SshBounds = { ...BOUNDS, ...deps.bounds };
  const sockets = new Set<Socket>();
  const ofAddress = new Map<string, number>();
  const strangersOfAddress = new Map<string, number>();
  const turns = new OrgRoundRobin<Arrival>(bounds.exchanges, true);
  /** Accepted, and not heard of yet, by their remote end. */
  const arriving = new Map<string, Arrival>();
  const visits = new Set<SshConnection>();
  let strangers = 0;

  const library = new ssh2.Server({ hostKeys: [deps.hostKey], ident: IDENT, algorithms: ALGORITHMS });
  library.on('error', () => undefined);
  library.on('connection', (client: Connection, { ip, port }: ClientInfo) => {
    client.on('error', () => undefined);
    const arrival = arriving.get(remoteEnd(ip, port));
    if (arrival?.intake === undefined) {
      client.end();
      return;
    }
    client.once('handshake', () => exchanged.get(arrival.socket)?.());
    welcome(client, arrival.socket, arrival.intake);
  });

  function accept(socket: Socket): void {
    const ip = socket.remoteAddress ?? '';
    const org = networkOf(ip);
    const isFull = sockets.size >= bounds.connections || strangers >= bounds.strangers;
    const hasItsShare =
      sizeOf(ofAddress, org) >= bounds.connectionsPerAddress ||
      sizeOf(strangersOfAddress, org) >= bounds.strangersPerAddress;
    socket.on('error', () => undefined);
    if (ip === '' || isFull || hasItsShare) {
      socket.destroy();
      return;
    }
    const key = remoteEnd(ip, socket.remotePort ?? 0);
    sockets.add(socket);
    add(ofAddress, org);
    add(strangersOfAddress, org);
    strangers += 1;
    const tooLate = setTimeout(() => socket.destroy(), bounds.loginMs);
    tooLate.unref();
    known.set(
      socket,
      once(() => {
        clearTimeout(tooLate);
        strangers -= 1;
        remove(strangersOfAddress, org);
      }),
    );
    const arrival: Arrival = { socket, org };
    arriving.set(key, arrival);
    socket.once('close', () => {
      known.get(socket)?.();
      turns.delete(arrival);
      sockets.delete(socket);
      arriving.delete(key);
      remove(ofAddress, org);
    });
    socket.setNoDelay(true);
    turns.add(arrival);
    beginNext();
  }

  /** Lets the library hear of those who have a place. */
  function beginNext(): void {
    for (let next = turns.take(); next !== undefined; next = turns.take()) {
      const arrival = next;
      const { socket } = arrival;
      const over = once(() => {
        clearTimeout(tooLong);
        turns.release(arrival);
        beginNext();
      });
      const tooLong = setTimeout(over, bounds.exchangeMs);
      tooLong.unref();
      exchanged.set(socket, over);
      socket.once('close', over);
      arrival.intake = new Intake(socket, arrival.org);
      // The library knows it for a socket; it uses nothing else of one.
      library.injectSocket(arrival.intake as unknown as Socket);
    }
  }

  /** What is to be done once when the keys of a connection are exchanged. */
  const exchanged = new WeakMap<Socket, () => void>();

  /** Called once when a client has logged in. */
  const known = new WeakMap<Socket, () => void>();

  function welcome(client: Connection, socket: Socket, intake: Intake): void {
    const visit = receive(client, intake, {
      ...{ authorization: deps.authorization, inside: deps.inside, bounds },
      onLogin({ owner }) {
        intake.loggedIn();
        known.get(socket)?.();
        const { org, project, name } = owner;
        deps.log.info({ org, project, workspace: name, from: socket.remoteAddress }, 'SSH login');
      },
    });
    visits.add(visit);
    socket.once('close', () => visits.delete(visit));
  }

  const server = createServer({ keepAlive: true, allowHalfOpen: true }, accept);
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
  server.on('error', (error) => deps.log.warn({ error: error.name }, 'the SSH server'));

  return {
    port,
    changed({ org, kind, project, name }) {
      for (const visit of visits) {
        const owner = visit.principal?.owner;
        if (owner?.org !== org) continue;
        if (kind === owner.kind && (owner.project !== project || owner.name !== name)) continue;
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
