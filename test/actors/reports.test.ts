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
      attempts: { find: () => ({ found: 'Live', address: THING, epoch: 1 }) },
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

for (const { title, vital, after, outcome } of [
  { title: 'is kept when there is room', vital: false, after: 1_000, outcome: 'kept' },
  { title: 'is told of with its error when there is none in time', vital: false, after: 20 * 60_000, outcome: 'lost' },
  { title: 'is waited for without end when it is vital', vital: true, after: 20 * 60_000, outcome: 'kept' },
]) {
  test(`an output for which the service has no room ${title}`, async (t) => {
    const stop = new AbortController();
    const output = { name: 'model', file: '/collected', size: 5, directory: false, vital };
    const state = { id: 'u-1.1', sequence: 3, phase: 'Exited', exitCode: 0, outputs: [output] } as unknown as WorkState;
    const engine = { watch: async () => undefined, list: async () => [state] } as unknown as ComputeEngine;
    // The directory of the blobs is away: that is no fault of the file.
    const away = Object.assign(new Error('ENOENT: /blobs/x'), { code: 'ENOENT', path: '/blobs/x' });
    const faults = [away, refuse('Unavailable', 'the disk that holds blobs is full')];
    let now = 0;
    const saving: (string | undefined)[] = [];
    const told = new Promise<WorkReport>((resolve) => {
      const reports = openReports({
        engine,
        attempts: { find: () => ({ found: 'Live', address: THING, epoch: 1 }) },
        async deliver(_address, _uid, report) {
          if (report.report === 'Saving') saving.push(report.error);
          else resolve(report);
          return 'Done';
        },
        async keep() {
          const fault = faults.shift();
          now += after;
          if (fault !== undefined) throw fault;
          return { name: 'model', sha256: 'abc', size: 5, directory: false };
        },
        stopping: stop.signal,
        now: () => now,
        onState: () => undefined,
        onRemoved: () => undefined,
        onProblem: () => undefined,
      });
      void reports.start();
    });
    const report = await told;
    stop.abort();
    t.deepEqual(saving, ['the service cannot keep it now', 'the disk that holds blobs is full']);
    const [kept] = report.report === 'Exited' ? report.outputs : [];
    t.is(kept?.sha256, outcome === 'kept' ? 'abc' : '');
    t.is(kept?.error, outcome === 'kept' ? undefined : 'the disk that holds blobs is full');
  });
}

test('an Attempt that is parked when its work is found to be lost hears of it when it is back', async (t) => {
  const stop = new AbortController();
  const engine = { list: async () => [] } as unknown as ComputeEngine;
  const answers = ['Parked', 'Done'] as const;
  let asked = 0;
  const told = new Promise<WorkReport>((resolve) => {
    const reports = openReports({
      engine,
      attempts: { find: () => ({ found: 'Live', address: THING, epoch: 1 }) },
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
