/** Runs tests with a runner of their own each, in every way in which boxes can be made on this machine. */
import test, { type ExecutionContext } from 'ava';
import { Harness } from './compute-harness.js';
import { EngineFixture, setups } from './namespaces-setups.js';

type Run = (t: ExecutionContext, fixture: EngineFixture, harness: Harness) => Promise<void>;

/** One fixture of its own per test: these tests kill runners. Serial, since each wants the machine's attention. */
export function each(
  title: string,
  run: Run,
  more: Parameters<typeof EngineFixture.make>[1] = {},
  among = setups,
): void {
  for (const setup of among) {
    if (setup.skip !== undefined) {
      test.skip(`${setup.title}: ${title} (${setup.skip})`, (t) => t.pass());
      continue;
    }
    test.serial(`${setup.title}: ${title}`, async (t) => {
      t.timeout(180_000);
      // A box that is kept ready would count as left over.
      const fixture = EngineFixture.make(setup, { spares: 0, ...more });
      try {
        const harness = await Harness.over(await fixture.open());
        try {
          await run(t, fixture, harness);
        } finally {
          // One that failed must not keep the process of the tests.
          await harness.close();
        }
      } finally {
        await fixture.clean();
      }
    });
  }
}

/** What is the same however boxes are made, and whoever the runner is: in the first way that can be tried here. */
export function once(title: string, run: Run, more: Parameters<typeof EngineFixture.make>[1] = {}): void {
  each(title, run, more, setups.filter(({ skip }) => skip === undefined).slice(0, 1));
}
