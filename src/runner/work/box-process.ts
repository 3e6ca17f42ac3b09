/**
 * What main, init and sidecars are to the life of a work, however they were started: as the box's only program, or by the agent of a
 * box that is held open.
 */
import type { OrderedProcess } from '../../engines/compute/contract/engine.js';
import type { Session, SessionEnd } from '../agent/session.js';
import type { Launched } from '../process/launch.js';
import { descendants, signalAll } from '../process/tree.js';
import { notExecuted, wasExecuted } from './outcome.js';

export interface BoxProcess {
  /** True once it runs; false when it never will. */
  readonly running: Promise<boolean>;
  readonly exited: Promise<SessionEnd>;
  /** Resolves when all its output is in its log. */
  readonly drained: Promise<unknown>;
  /** To all of its processes; false when there are none. */
  terminate(): boolean;
  kill(): void;
}

/** `passed`: what it waits for before it is executed; false when it never will be. */
export function onlyProgram(launched: Launched, process: OrderedProcess, passed: Promise<boolean>): BoxProcess {
  let boxPid: number | undefined;
  const running = launched.boxPid.then((pid) => {
    boxPid = pid;
    return pid === undefined ? false : passed;
  });
  return {
    running,
    exited: launched.exited.then((exit): SessionEnd => {
      if (wasExecuted(exit)) return { end: 'Exited', exitCode: exit.exitCode };
      const { reason, message } = notExecuted(process, exit);
      return { end: 'NotExecuted', reason, message };
    }),
    drained: launched.drained,
    terminate: () => {
      const tree = boxPid === undefined ? [] : descendants(boxPid);
      signalAll(tree, 'SIGTERM');
      return tree.length > 0;
    },
    kill: () => launched.kill(),
  };
}

export function heldProgram(session: Session): BoxProcess {
  let runs = false;
  const running = session.started.then((started) => {
    runs = started;
    return started;
  });
  return {
    running,
    exited: session.ended,
    drained: session.ended,
    terminate: () => {
      // Also when the word that it runs is still under way: otherwise it would never hear of its end.
      session.signal('SIGTERM');
      return runs;
    },
    kill: () => session.kill(),
  };
}
