/**
 * Tests of one file that use one service one after another, since a start costs more than most of what they look at. What one test has killed
 * and started again is what the next begins with; after a test that failed the next one gets a fresh service.
 */
import test, { type ExecutionContext } from 'ava';

/** Takes what has to be ended with the service. */
export interface Scope {
  teardown(release: () => Promise<void>): void;
}

interface Opened<T> {
  readonly service: T;
  close(): Promise<void>;
}

async function openWith<T>(open: (scope: Scope) => Promise<T>): Promise<Opened<T>> {
  const releases: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (const release of releases.splice(0).toReversed()) await release().catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  try {
    return { service: await open({ teardown: (release) => releases.push(release) }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

export type TestOf<T> = (title: string, run: (t: ExecutionContext, service: T) => Promise<void>) => void;

/**
 * Defines tests that run one after another, in the order of their definitions. `open` starts the service of the first. Where something is
 * missing on this machine they are skipped.
 */
export function oneAfterAnother<T>(open: (scope: Scope) => Promise<T>, missing?: string): TestOf<T> {
  if (missing !== undefined) return (title) => test.skip(`${title} (${missing})`, (t) => t.pass());
  let opened: Opened<T> | undefined;
  const close = async (): Promise<void> => {
    const closing = opened;
    opened = undefined;
    await closing?.close();
  };
  test.serial.after.always(close);
  return (title, run) =>
    test.serial(title, async (t) => {
      let passed = false;
      t.teardown(async () => {
        if (!passed) await close();
      });
      opened ??= await openWith(open);
      await run(t, opened.service);
      passed = t.passed;
    });
}
