/** The compute contract over the embedded engine, in every way in which it can be set up here. */
import test from 'ava';
import { computeContract } from './compute-contract.js';
import type { Surroundings } from './contract/case.js';
import { Harness } from './compute-harness.js';
import { isListed, sleeperOf } from '../support/proc.js';
import { turns } from '../support/turns.js';
import { EngineFixture, setups } from './namespaces-setups.js';

/** Of all setups together; most cases wait for a process or a clock. */
const turn = turns(7);
/** From its turn on. */
const CASE_MS = 120_000;

interface Resources {
  readonly fixture: EngineFixture;
  readonly harness: Harness;
  readonly around: Surroundings;
}

for (const setup of setups) {
  if (setup.skip !== undefined) {
    test.skip(`${setup.title} (${setup.skip})`, (t) => t.pass());
    continue;
  }
  // One engine for all cases of a setup: they run at the same time and must not meet.
  let resources: Promise<Resources> | undefined;
  const open = async (): Promise<Resources> => {
    const fixture = EngineFixture.make(setup);
    const engine = await fixture.open();
    const facts = await engine.facts(AbortSignal.timeout(10_000));
    const files = fixture.files();
    fixture.share(files);
    const { layout, settings } = fixture.place;
    const around: Surroundings = {
      facts,
      hidden: [fixture.base, layout.journal, layout.socket, settings.runtimeDir, process.cwd()],
      filters: true,
      boundsTerminals: setup.isolation !== 'bubblewrap',
      ownUsers: setup.uid === 0,
      files,
      userOf: sleeperOf,
      isListed,
      share: (path) => fixture.share(path),
    };
    return { fixture, harness: await Harness.over(engine), around };
  };
  test.before(() => {
    resources = open();
  });
  test.after.always(async () => {
    const { fixture, harness } = (await resources) as Resources;
    await harness.close();
    await fixture.clean();
  });
  for (const { name, needs, run } of computeContract) {
    test(`${setup.title}: ${name}`, async (t) => {
      // All of them are waiting for their turn at first.
      t.timeout(8 * 60_000);
      const { harness, around } = (await resources) as Resources;
      t.is(around.facts.refusal, undefined);
      const missing = (needs ?? []).filter((limit) => !around.facts.enforced[limit]);
      if (missing.length > 0) {
        t.log(`not enforced here: ${missing.join(', ')}`);
        t.pass();
        return;
      }
      await turn(() => {
        t.timeout(CASE_MS);
        return run(t, harness, around);
      });
    });
  }
}
