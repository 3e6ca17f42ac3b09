/** Lets test files share a process: the titles of each begin with its name, as they do when it runs in a process of its own. */
import type { TestFn } from 'ava';

type Declare = (...given: unknown[]) => unknown;

/** `test` and its variants (`test.serial`, `test.skip`, …) with titles that begin with this name. */
export function titled(test: TestFn, name: string): TestFn {
  const around = (declare: Declare): Declare =>
    new Proxy(declare, {
      apply: (target, self, [title, ...rest]: unknown[]) =>
        Reflect.apply(target, self, typeof title === 'string' ? [`${name} › ${title}`, ...rest] : [title, ...rest]),
      get(target, property) {
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? around(value as Declare) : value;
      },
    });
  return around(test as Declare) as TestFn;
}
