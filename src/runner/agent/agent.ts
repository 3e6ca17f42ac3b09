/**
 * One box that is held open: the socket by which its agent is reached, the launch, and the sessions with it.
 *
 * The socket lies in the runner's private directory, and the agent has it listening from its start: it was made by the runner, or by the
 * zygote's child before anything of the box was there. So nothing inside ever made or named what the runner connects to.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import type { Box, Holder, Isolation } from '../isolation/isolation.js';
import { firstFeed, launch, type Launched } from '../process/launch.js';
import type { Pipes } from '../process/pipes.js';
import type { Group } from '../limits/groups.js';
import type { DataPlace } from '../protocol/messages.js';
import type { Zygote } from '../zygote/zygote.js';
import type { SessionOrder } from './order.js';
import { Session, type Listener } from './session.js';

/** Of the name of a command's data. */
const NAME_BYTES = 8;

/** Names sockets; one per runner. */
export class AgentSockets {
  private readonly directory: string;
  private made = 0;

  constructor(directory: string) {
    this.directory = directory;
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { mode: 0o700 });
  }

  next(): string {
    return join(this.directory, String(this.made++));
  }
}

export interface AgentDeps {
  readonly isolation: Isolation;
  readonly pipes: Pipes;
  readonly sockets: AgentSockets;
  /** What holds a box (`agent.pl`). */
  readonly program: Holder;
  /** Whether it can carry a command's data past the runner. */
  readonly carriesData: boolean;
  /** Makes the boxes, where there is one; else the isolation does, and the agent is executed in it. */
  readonly zygote: Zygote | undefined;
}

export class Agent {
  readonly holder: Launched;
  private readonly path: string;
  private readonly carriesData: boolean;
  /** The work that has the box now; a warm box changes hands. */
  onBroken: (why: string) => void;

  private constructor(holder: Launched, path: string, carriesData: boolean, onBroken: (why: string) => void) {
    this.holder = holder;
    this.path = path;
    this.carriesData = carriesData;
    this.onBroken = onBroken;
  }

  /** The box is there, and may be spoken to, once `holder.ready` says so. */
  static async launch(
    box: Box,
    group: Group | undefined,
    deps: AgentDeps,
    onBroken: (why: string) => void,
  ): Promise<Agent> {
    const path = deps.sockets.next();
    if (deps.zygote !== undefined) {
      const made = await deps.zygote.make({ box, socket: path, memberFiles: group?.memberFiles ?? [] });
      return new Agent(made, path, deps.carriesData, onBroken);
    }
    const memberFiles = group?.openMemberFiles() ?? [];
    const server = await listening(`${path}.new`);
    try {
      // Closing takes away the name under which it was made.
      renameSync(`${path}.new`, path);
      const plan = deps.isolation.box(box, deps.program, firstFeed(memberFiles.length));
      const holder = await launch(plan, memberFiles, deps.pipes, undefined, descriptorOf(server));
      return new Agent(holder, path, deps.carriesData, onBroken);
    } finally {
      server.close();
    }
  }

  open(order: SessionOrder, listener: Listener): Session {
    return new Session(this.path, order, listener, (why) => this.onBroken(why));
  }

  /** Where a command's data may go past the runner, under a new name; undefined where it cannot. */
  dataPlace(): DataPlace | undefined {
    return this.carriesData ? { socket: this.path, name: randomBytes(NAME_BYTES).toString('hex') } : undefined;
  }

  /** When nothing of the box runs any more. */
  close(): void {
    rmSync(this.path, { force: true });
  }
}

function listening(path: string): Promise<Server> {
  const server = createServer();
  return new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(path, () => done(server));
  });
}

/** Node shows it in no other way, and has had it here since its beginnings. */
function descriptorOf(server: Server): number {
  const { _handle: handle } = server as unknown as { readonly _handle?: { readonly fd?: number } };
  if (handle?.fd === undefined || handle.fd < 0) throw new Error('the socket of a box has no descriptor');
  return handle.fd;
}
