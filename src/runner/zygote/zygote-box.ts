/**
 * One box that a zygote makes, as a `Launched`: what its connection says, and its end, which is that of the connection.
 */
import type { Socket } from 'node:net';
import type { Exit, Launched } from '../process/launch.js';
import { endOf } from '../process/tree.js';

/** A box that is not there by then is ended. Its group may have little of the processor. */
const MAKING_MS = 60_000;
/** One whose number is not known yet is ended by its connection after so long. */
const NUMBER_MS = 5_000;
/** More than is said of any. */
const MOST_SAID = 4096;
const KILLED = 128 + 9;

/** `connection`: with the zygote; `making`: what it is told; `end`: kills the child with this number, if it is still one of the zygote's. */
export function makeBox(connection: Socket, making: Buffer, end: (pid: number) => void): Launched {
  let said = '';
  let pid: number | undefined;
  let killed = false;
  let known: (pid: number | undefined) => void = () => undefined;
  let isReady: (ready: boolean) => void = () => undefined;
  const boxPid = new Promise<number | undefined>((resolve) => {
    known = resolve;
  });
  const ready = new Promise<boolean>((resolve) => {
    isReady = resolve;
  });

  const kill = (): void => {
    killed = true;
    if (pid !== undefined) return end(pid);
    const forget = setTimeout(() => connection.destroy(), NUMBER_MS);
    connection.once('close', () => clearTimeout(forget));
  };
  const late = setTimeout(() => {
    said += '\nfailed it was not ready in time';
    kill();
  }, MAKING_MS);

  connection.on('data', (chunk: Buffer) => {
    if (said.length < MOST_SAID) said += chunk.toString('utf8');
    const number = /^box (\d+)$/m.exec(said)?.[1];
    if (number !== undefined && pid === undefined) {
      pid = Number(number);
      known(pid);
      if (killed) end(pid);
    }
    if (!/^ready$/m.test(said)) return;
    clearTimeout(late);
    isReady(true);
  });
  connection.on('error', (error) => {
    said += `\nfailed ${error.message}`;
  });
  const exited = new Promise<Exit>((resolve) => {
    connection.once('close', () => {
      clearTimeout(late);
      known(undefined);
      isReady(false);
      const error = /^failed (.*)$/m.exec(said)?.[1] ?? '';
      resolve({ exitCode: KILLED, executed: error === '', error });
    });
  });
  connection.write(making);
  return {
    boxPid,
    ready,
    exited,
    // It says nothing that anybody keeps.
    drained: exited.then(() => undefined),
    gone: endOf(boxPid),
    pass: () => undefined,
    kill,
    release: () => undefined,
  };
}
