/** The examples of a Sweep and a Pipeline, as kubectl applies them, and what kubectl shows of them. */
import test, { type ExecutionContext } from 'ava';
import { findProgram } from '../../src/engines/compute/shared/find-program.js';
import { listAt, numberAt, path, textAt, valueAt } from '../e2e/client.js';
import { kubectlWith, missingKubectl, type Kubectl } from '../e2e/kubectl.js';
import { until } from '../e2e/until.js';
import { openParents, outcomeOf, phasesOf, PIPELINES, SWEEPS, type Parents } from './parents.js';

const JOBS = path('jobs', 'default');

const missing = missingKubectl();
const kube = missing === undefined ? test : test.skip;
const title = (name: string): string => (missing === undefined ? name : `${name} (${missing})`);

let parents: Parents;
let kubectl: Kubectl;
test.before(async () => {
  if (missing !== undefined) return;
  parents = await openParents();
  kubectl = kubectlWith(parents.service.kubeconfig);
});
test.after.always(async () => parents?.close());

async function good(t: ExecutionContext, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await kubectl.run(args);
  t.is(code, 0, `kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

kube(title('the example of a Sweep runs its eight cells, and kubectl tells how far it is'), async (t) => {
  const watch = kubectl.start(['get', 'sweeps', '-w', '-o', 'wide']);
  t.teardown(() => watch.stop());
  t.is(await good(t, 'apply', '-f', 'ops/examples/sweep/sweep.yaml'), 'sweep.svc.dev/levels created\n');
  const sweep = await parents.ended(`${SWEEPS}/levels`);
  t.is(outcomeOf(sweep), 'Succeeded Completed');
  t.deepEqual(
    phasesOf(sweep, 'cells'),
    Array.from({ length: 8 }, () => 'Succeeded'),
  );
  t.regex(await good(t, 'get', 'sweep', 'levels'), /^levels +Succeeded +8\/8 +0 +0 +Completed /m);
  const sizes = new Map<string, Set<string>>();
  for (const cell of listAt(sweep, 'status', 'cells')) {
    const level = textAt(cell, 'params', 'LEVEL');
    const { text } = await parents.client().get(`${JOBS}/${textAt(cell, 'object')}/logs`);
    t.regex(text, new RegExp(`^level ${level}: [0-9]+ bytes$`, 'm'));
    sizes.set(level, (sizes.get(level) ?? new Set()).add(text));
  }
  t.deepEqual(
    [...sizes.values()].map((each) => each.size),
    [1, 1, 1, 1],
    'a level compresses as well each time',
  );
  if (findProgram('curl') !== undefined) t.true(numberAt(sweep, 'status', 'best', 'byThroughput') >= 0);
  await until('the watch has told the story', () => /^levels +Succeeded +8\/8 /m.test(watch.output()));
  t.regex(watch.output(), /^levels +Pending /m);
  t.regex(watch.output(), /^levels +Running +[1-7]\/8 +[12] /m);
  t.regex(await good(t, 'describe', 'sweep', 'levels'), /Phase: +Succeeded[^]*Succeeded: +8/);
});

kube(
  title('the example of a Pipeline hands outputs from stage to stage, and kubectl tells how far it is'),
  async (t) => {
    const watch = kubectl.start(['get', 'pipelines', '-w']);
    t.teardown(() => watch.stop());
    const file = 'ops/examples/pipeline/pipeline.yaml';
    t.is(await good(t, 'apply', '-f', file), 'pipeline.svc.dev/sum-of-squares created\n');
    const pipeline = await parents.ended(`${PIPELINES}/sum-of-squares`);
    t.is(outcomeOf(pipeline), 'Succeeded Completed');
    t.is((await parents.client().get(`${PIPELINES}/sum-of-squares/stages/sum/logs`)).text, 'the sum is 385\n');
    await until('the watch has told the story', () => /^sum-of-squares +Succeeded +3\/3 /m.test(watch.output()));
    for (const [done, stage] of ['numbers', 'squares', 'sum'].entries())
      t.regex(watch.output(), new RegExp(`^sum-of-squares +Running +${done}/3 +${stage} `, 'm'));
    t.regex(await good(t, 'describe', 'pipeline', 'sum-of-squares'), /Name: +squares[^]*Phase: +Succeeded/);
    t.true(valueAt(pipeline, 'status', 'completionTime') !== undefined);
  },
);
