/**
 * Lets test files share a process: the titles of each begin with its name, as they do when it runs in a process of its own. Files that take
 * turns do not meet either: the tests of one begin when those of the one before have ended, so that none waits for the work of another.
 */
import type { ExecutionContext, TestFn } from 'ava';

type Declare = (...given: unknown[]) => unknown;
type Implementation = (t: ExecutionContext, ...rest: unknown[]) => unknown;

/** `test` and its variants (`test.serial`, `test.skip`, …) with titles that begin with this name, in turn with the other files or beside them. */
export function titled(test: TestFn, name: string, inTurn: boolean): TestFn {
  const around = (declare: Declare): Declare =>
    new Proxy(declare, {
      apply: (target, self, [title, implementation, ...rest]: unknown[]) =>
        Reflect.apply(
          target,
          self,
          typeof title === 'string'
            ? [`${name} › ${title}`, inTurn ? afterOthers(name, implementation) : implementation, ...rest]
            : [title, implementation, ...rest],
        ),
      get(target, property) {
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? around(value as Declare) : value;
      },
    });
  return around(test as Declare) as TestFn;
}

/** A test that hangs keeps the files behind it waiting no longer than this. */
const TURN_MS = 180_000;

interface Turn {
  readonly file: string;
  running: number;
}

let current: Turn | undefined;
let late: NodeJS.Timeout | undefined;
/** The files that wait, in order, each with its tests. */
const waiting = new Map<string, ((turn: Turn) => void)[]>();

function afterOthers(file: string, implementation: unknown): unknown {
  // Of `test.todo` there is none.
  if (typeof implementation !== 'function') return implementation;
  return async (t: ExecutionContext, ...rest: unknown[]): Promise<unknown> => {
    const turn = await turnOf(file);
    // What is registered first is done last.
    t.teardown(() => {
      turn.running -= 1;
      if (turn === current && turn.running === 0) nextTurn();
    });
    return (implementation as Implementation)(t, ...rest);
  };
}

function turnOf(file: string): Promise<Turn> {
  if (current?.file === file) {
    current.running += 1;
    return Promise.resolve(current);
  }
  const turn = new Promise<Turn>((resolve) => {
    waiting.set(file, [...(waiting.get(file) ?? []), resolve]);
  });
  if (current === undefined) nextTurn();
  return turn;
}

function nextTurn(): void {
  clearTimeout(late);
  current = undefined;
  const [next] = waiting;
  if (next === undefined) return;
  const [file, tests] = next;
  waiting.delete(file);
  current = { file, running: tests.length };
  late = setTimeout(nextTurn, TURN_MS);
  for (const begin of tests) begin(current);
}
