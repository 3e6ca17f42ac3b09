/** Saving what work leaves: a vital output is tried again until it is there or nobody wants it any more. */
import test from 'ava';
import type { OutputFile, WorkState } from '../../src/engines/compute/contract/engine.js';
import type { WireOrder } from '../../src/runner/protocol/messages.js';
import type { ScratchSlot } from '../../src/runner/work/scratch.js';
import { saveOutputs } from '../../src/runner/work/save.js';

const PLACE = {} as ScratchSlot;
const ORDER = { outputs: [{ name: 'home', path: '/home', vital: true }] } as unknown as WireOrder;

const good: OutputFile = { name: 'home', file: '/x', size: 1, directory: true };
const bad: OutputFile = { name: 'home', file: '', size: 0, directory: false, error: 'no space left' };

test('a vital output that fails is tried again, and each new reason is told once', async (t) => {
  const tries = [bad, good];
  const said: (WorkState['saving'] | undefined)[] = [];
  const outputs = await saveOutputs(
    ORDER,
    PLACE,
    { collect: async () => [tries.shift() ?? good] },
    {
      report: (saving) => said.push(saving),
      abandoned: new AbortController().signal,
    },
  );
  t.deepEqual(outputs, [{ ...good, vital: true }]);
  t.deepEqual(said, [{ error: 'no space left' }]);
});

test('a collection that breaks altogether is one that failed, and ends when it is abandoned', async (t) => {
  const abandoned = new AbortController();
  const collect = async (): Promise<OutputFile[]> => {
    throw new Error('the disk is gone');
  };
  const outputs = await saveOutputs(
    ORDER,
    PLACE,
    { collect },
    {
      report: () => abandoned.abort(),
      abandoned: abandoned.signal,
    },
  );
  t.deepEqual(
    outputs.map(({ error }) => error),
    ['the disk is gone'],
  );
});

test('what is not vital is tried once', async (t) => {
  const spec = { outputs: [{ name: 'home', path: '/home' }] } as unknown as WireOrder;
  const outputs = await saveOutputs(
    spec,
    PLACE,
    { collect: async () => [bad] },
    {
      report: () => t.fail(),
      abandoned: new AbortController().signal,
    },
  );
  t.deepEqual(outputs, [bad]);
});
