import test from 'ava';
import { assert, property, string } from 'fast-check';
import { Expansion, ExpansionTooLarge, MOST_TOGETHER } from '../../actors/work/expand.js';
import { resolveWorkSpec, type WorkSpecDeps } from '../../actors/work/work-spec.js';
import type { PlannedEnv, WorkPlan } from '../../src/kinds/work.js';

const expand = (text: string, variables: Record<string, string> = { A: '1', B_2: 'two', EMPTY: '' }): string =>
  new Expansion().expand(text, variables);

test('a reference stands for its variable, as in Kubernetes, and what is none stays as it is written', (t) => {
  for (const [text, meant] of [
    ['$(A)-$(B_2)$(EMPTY).', '1-two.'],
    ['$(UNKNOWN) $(date) $(A', '$(UNKNOWN) $(date) $(A'],
    ['$$(A) $$(UNKNOWN)', '$(A) $(UNKNOWN)'],
    ['$$$(A) $$$$(A)', '$1 $$(A)'],
    ['$A ${A} $((1+1)) $$ x.$$ $()', '$A ${A} $((1+1)) $$ x.$$ $()'],
    ['$(A)$(constructor)', '1$(constructor)'],
    ['$(echo $(A))', '$(echo 1)'],
  ] as const) {
    t.is(expand(text), meant);
  }
  t.is(expand('$(A)', { A: '$(B)', B: 'twice' }), '$(B)', 'what a value says is not expanded again');
});

test('text without a reference is never changed', (t) => {
  t.notThrows(() =>
    assert(property(string({ unit: 'binary' }), (text) => text.includes('$(') || expand(text) === text)),
  );
});

test('what grows beyond what a process can be given is refused before it fills the memory', (t) => {
  const variables: Record<string, string> = { A: 'x'.repeat(70_000) };
  t.throws(() => expand('$(A)$(A)', variables), { instanceOf: ExpansionTooLarge });
  const expansion = new Expansion();
  const fits = Math.floor(MOST_TOGETHER / 70_000);
  for (let n = 0; n < fits; n += 1) expansion.expand('$(A)', variables);
  t.throws(() => expansion.expand('$(A)', variables), { instanceOf: ExpansionTooLarge });
});

const PLACE = { org: 'o', kind: 'Attempt', project: 'default', name: 'a' };
const deps = {
  secrets: { open: async () => undefined },
  read: async () => undefined,
  used: () => undefined,
  now: () => 0,
  inputs: { stage: async () => ({ outcome: 'Later', message: '' }) as const },
} satisfies WorkSpecDeps;

function plan(command: readonly string[], env: readonly PlannedEnv[]): WorkPlan {
  const main = { name: 'main', command, env };
  const amounts = { milliCpu: 1, memory: 1, disk: 1 };
  return {
    ...{ image: 'svc/agent-tools', main, sidecars: [{ ...main, name: 'side' }], secrets: [], workingDir: '/', amounts },
    ...{ inputs: [], outputs: [] },
  };
}

test('command and env of every process of an order are expanded, each value from those above it', async (t) => {
  const env = [
    { name: 'EARLY', value: '$(LATE)' },
    { name: 'LATE', value: 'late' },
    { name: 'BOTH', value: '$(LATE)/$(EARLY)' },
  ];
  const resolved = await resolveWorkSpec('id', PLACE, plan(['echo', '$(BOTH)', '$$(LATE)'], env), {}, deps, never());
  if (resolved.outcome !== 'Resolved') return t.fail(resolved.outcome);
  for (const process of [resolved.spec.main, ...resolved.spec.sidecars]) {
    t.deepEqual(process?.command, ['echo', 'late/$(LATE)', '$(LATE)']);
    t.deepEqual(process?.env, { EARLY: '$(LATE)', LATE: 'late', BOTH: 'late/$(LATE)' });
  }
  const doubling = Array.from({ length: 200 }, (_, n) => ({
    name: `V${n}`,
    value: n === 0 ? 'xx' : `$(V${n - 1})$(V${n - 1})`,
  }));
  const refused = await resolveWorkSpec('id', PLACE, plan(['true'], doubling), {}, deps, never());
  t.like(refused, { outcome: 'Missing', reason: 'ExpansionTooLarge' });
});

function never(): AbortSignal {
  return new AbortController().signal;
}
