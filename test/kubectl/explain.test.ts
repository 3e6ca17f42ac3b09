/** `kubectl explain` for every kind, and categories: what the declarations of the kinds promise to people. */
import test from 'ava';
import { KINDS } from '../../src/kinds/index.js';
import { apiVersionOf } from '../../src/kinds/versions.js';
import { kubectlWith, missingKubectl, type Kubectl } from '../e2e/kubectl.js';
import { shareRunning, type Running } from '../e2e/running.js';

const missing = missingKubectl();
const kube = missing === undefined ? test.serial : test.serial.skip;
const title = (name: string): string => (missing === undefined ? name : `${name} (${missing})`);

let service: Running;
let kubectl: Kubectl;

test.before(async () => {
  if (missing !== undefined) return;
  service = await shareRunning(undefined, { env: { TROUPE_COMPUTE: 'off' } });
  kubectl = kubectlWith(service.kubeconfig);
});

test.after.always(async () => service?.close());

/** Most that run at once: each is a process. */
const AT_ONCE = 4;

kube(title('explain shows every kind with all of its fields'), async (t) => {
  t.timeout(120_000);
  const left = [...KINDS];
  const worker = async (): Promise<void> => {
    for (let kind = left.pop(); kind !== undefined; kind = left.pop()) {
      const version = apiVersionOf(kind);
      const { code, stdout, stderr } = await kubectl.run([
        'explain',
        kind.plural,
        '--recursive',
        `--api-version=${version}`,
      ]);
      t.is(code, 0, `${kind.kind}: ${stderr}`);
      for (const word of [`KIND:       ${kind.kind}`, 'metadata', 'spec', 'status', kind.description.slice(0, 30)]) {
        t.true(stdout.includes(word), `${kind.kind} without ${word}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
});

kube(title('explain has a sentence for a field far down, in a map and in a list'), async (t) => {
  for (const [field, said] of [
    ['jobs.spec.recovery.checkpoint.interval', 'duration'],
    ['budgets.spec.scope.selector.matchExpressions.operator', 'compared'],
    ['cloudaccounts.status.spend.report.currencies.forecast.horizonDays', 'Days that it covers'],
    ['webhookendpoints.spec.eventTypes', 'every event'],
    ['jobs.metadata.labels', 'selectors'],
  ] as const) {
    const { code, stdout, stderr } = await kubectl.run(['explain', field]);
    t.is(code, 0, stderr);
    t.regex(stdout, new RegExp(said, 'i'), field);
  }
  t.not((await kubectl.run(['explain', 'jobs.spec.nothing'])).code, 0);
});

kube(title('categories and short names find their kinds'), async (t) => {
  for (const words of [['all'], ['billing'], ['wh'], ['bud'], ['off']]) {
    const { code, stderr } = await kubectl.run(['get', ...words, '-n', 'default']);
    t.is(code, 0, `${words.join(' ')}: ${stderr}`);
  }
  const listed = await kubectl.run(['api-resources', '--categories=billing', '-o', 'name']);
  for (const plural of ['budgets', 'topups', 'creditgrants']) t.true(listed.stdout.includes(plural), plural);
});
