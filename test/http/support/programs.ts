/** Stands for what runs inside a box in tests of the HTTP layers: programs on real sockets of this machine, and executions by script. */
import { createServer as createHttp, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Commands } from '../../../actors/work/commands.js';
import type { ExecEnd, Execution, TerminalSize } from '../../../src/engines/compute/contract/engine.js';
import { NO_COMMANDS } from './test-api.js';

type Teardown = { teardown(release: () => Promise<void>): void };

export interface Counts {
  begun: number;
  ended: number;
  touched: number;
}

/** Ports inside are those of this machine; what nobody listens on is refused. */
export function portsOf(counts: Counts = { begun: 0, ended: 0, touched: 0 }): Commands {
  return {
    ...NO_COMMANDS,
    connect: (_owner, { port }, signal) =>
      new Promise((resolve) => {
        const stream = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
        signal.addEventListener('abort', () => stream.destroy());
        stream.once('error', () => resolve({ outcome: 'Refused', message: 'nobody' }));
        stream.once('connect', () =>
          resolve({
            outcome: 'Connected',
            stream,
            begin() {
              counts.begun += 1;
              return () => (counts.ended += 1);
            },
            touch: () => void (counts.touched += 1),
          }),
        );
      }),
  };
}

async function listening(server: Server | ReturnType<typeof createServer>, t: Teardown): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** A program that speaks HTTP. */
export function web(
  t: Teardown,
  answer: (req: IncomingMessage, res: ServerResponse) => void | Promise<void>,
  more: (server: Server) => void = () => undefined,
): Promise<number> {
  const server = createHttp((req, res) => void answer(req, res));
  more(server);
  return listening(server, t);
}

/** A program that says this to whoever connects, and then closes unless it is to stay. */
export function talker(t: Teardown, said: string, stays = false): Promise<number> {
  return listening(
    createServer((socket) => {
      socket.once('data', () => (stays ? socket.write(said) : socket.end(said)));
    }),
    t,
  );
}

/** A program on a terminal, led by the test. */
export interface ScriptedCommands {
  readonly commands: Commands;
  readonly asked: Parameters<Commands['start']>[1][];
  readonly typed: Buffer[];
  readonly sizes: TerminalSize[];
  /** How many of the parts that `say` was given have been taken. */
  readonly taken: number;
  say(data: Uint8Array | string): void;
  end(end: ExecEnd): void;
  /** From now on nothing that is typed is read, until the call. */
  hold(): () => void;
  readonly aborted: boolean;
}

export function openScriptedCommands(): ScriptedCommands {
  const asked: Parameters<Commands['start']>[1][] = [];
  const typed: Buffer[] = [];
  const sizes: TerminalSize[] = [];
  const queue: Uint8Array[] = [];
  let taken = 0;
  let over = false;
  let aborted = false;
  let wake = (): void => undefined;
  let gate: Promise<void> = Promise.resolve();
  let finish: (end: ExecEnd) => void = () => undefined;
  const ended = new Promise<ExecEnd>((resolve) => (finish = resolve));
  const end = (with_: ExecEnd): void => {
    over = true;
    finish(with_);
    wake();
  };
  async function* output(): AsyncGenerator<{ stream: 'stdout'; data: Uint8Array }> {
    for (;;) {
      const data = queue.shift();
      if (data) {
        taken += 1;
        yield { stream: 'stdout', data };
      } else if (over) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  const execution: Execution = {
    output: output(),
    ended,
    async write(data) {
      await gate;
      typed.push(Buffer.from(data));
    },
    endInput: () => undefined,
    signal: () => undefined,
    resize: (size) => void sizes.push(size),
  };
  return {
    asked,
    typed,
    sizes,
    get taken() {
      return taken;
    },
    get aborted() {
      return aborted;
    },
    commands: {
      ...NO_COMMANDS,
      async start(_owner, command, signal) {
        asked.push(command);
        signal.addEventListener('abort', () => {
          aborted = true;
          end({ end: 'WorkGone' });
        });
        return execution;
      },
    },
    say(data) {
      queue.push(Buffer.from(data));
      wake();
    },
    end,
    hold() {
      let open = (): void => undefined;
      gate = new Promise((resolve) => (open = resolve));
      return () => open();
    },
  };
}
