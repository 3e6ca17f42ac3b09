import test from 'ava';
import { openReports } from '../../actors/work/reports.js';
import type { ComputeEngine, WorkState } from '../../src/engines/compute/contract/engine.js';
import type { WorkReport } from '../../src/kinds/report.js';
import { refuse } from '../../src/api/refusal.js';
import { THING } from './support.js';

test('an output that can never be kept does not keep the end of its work from being told', async (t) => {
  const stop = new AbortController();
  const state = {
    id: 'u-1.1',
    sequence: 3,
    phase: 'Exited',
    exitCode: 0,
    outputs: [{ name: 'big', file: '/nowhere', size: 5 }],
  } as unknown as WorkState;
  const engine = { watch: async () => undefined, list: async () => [state] } as unknown as ComputeEngine;
  const told = new Promise<WorkReport>((resolve) => {
    const reports = openReports({
      engine,
      attempts: { find: () => ({ found: 'Live', address: THING }) },
      async deliver(_address, _uid, report) {
        resolve(report);
        return 'Done';
      },
      keep: () => Promise.reject(refuse('QuotaExceeded', 'the org has no room left')),
      stopping: stop.signal,
      now: () => 1,
      onState: () => undefined,
      onRemoved: () => undefined,
      onProblem: () => undefined,
    });
    void reports.start();
  });
  const report = await told;
  t.is(report.report, 'Exited');
  if (report.report === 'Exited') t.is(report.outputs[0]?.error, 'the org has no room left');
  stop.abort();
});

test('an Attempt that is parked when its work is found to be lost hears of it when it is back', async (t) => {
  const stop = new AbortController();
  const engine = { list: async () => [] } as unknown as ComputeEngine;
  const answers = ['Parked', 'Done'] as const;
  let asked = 0;
  const told = new Promise<WorkReport>((resolve) => {
    const reports = openReports({
      engine,
      attempts: { find: () => ({ found: 'Live', address: THING }) },
      async deliver(_address, _uid, report) {
        const answer = answers[asked++] ?? 'Done';
        if (answer === 'Done') resolve(report);
        return answer;
      },
      keep: () => Promise.reject(new Error('none')),
      stopping: stop.signal,
      now: () => 1,
      onState: () => undefined,
      onRemoved: () => undefined,
      onProblem: () => undefined,
    });
    void reports.missLost([{ uid: 'u-1', address: THING, epoch: 1 }], () => false);
  });
  t.is((await told).report, 'Lost');
  t.is(asked, 2);
  stop.abort();
});
