/** Sandboxes and what dies under them: the service, and the runner. One service: nobody else may be disturbed. */
import test from 'ava';
import { Client as Database } from 'pg';
import { numberAt, textAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { condition, NOTES, openSandboxes } from './sandboxes.js';

/** Who keeps which blob: `uid digest` each. */
function holdersOf(databaseUrl: string): () => Promise<readonly string[]> {
  return async () => {
    const database = new Database({ connectionString: databaseUrl });
    await database.connect();
    try {
      const { rows } = await database.query<{ held: string }>(
        "SELECT uid || ' ' || digest AS held FROM blob_refs ORDER BY 1",
      );
      return rows.map(({ held }) => held);
    } finally {
      await database.end();
    }
  };
}

test('A SIGKILLed service adopts what runs; a SIGKILLed runner takes its work along, and what that has written comes back at the next epoch', async (t) => {
  const boxes = await openSandboxes(t);
  await boxes.post('box', { command: NOTES });
  await boxes.phase('box', 'Running', 1);
  await boxes.said('box', 1, '1\n');
  await boxes.patch('box', { spec: { state: 'Stopped' } });
  await boxes.phase('box', 'Stopped');
  await boxes.patch('box', { spec: { state: 'Running' } });
  await boxes.phase('box', 'Running', 2);
  await boxes.said('box', 2, '1\n2\n');

  await boxes.service.kill();
  await boxes.service.start();
  await boxes.phase('box', 'Running', 2);
  t.is((await boxes.attempts('box')).length, 2, 'it runs on, and nothing was begun anew');

  process.kill(await boxes.runner(), 'SIGKILL');
  const back = await boxes.phase('box', 'Running', 3);
  t.is(await boxes.said('box', 3, '1\n2\n3\n'), '1\n2\n3\n', 'the machine still had what epoch 2 wrote');
  t.is(condition(back, 'StateSaved'), 'True Saved');
  const [, second, third] = await boxes.attempts('box');
  t.is(textAt(second, 'status', 'reason'), 'NodeLost');
  t.is(textAt(second, 'status', 'supersededBy'), textAt(third, 'metadata', 'name'));
  t.true(
    Date.parse(textAt(second, 'status', 'timings', 'deletionProvenTime')) <=
      Date.parse(textAt(third, 'status', 'timings', 'queuedTime')),
    'no successor before the proof',
  );

  // In the middle of a stop.
  await boxes.patch('box', { spec: { state: 'Stopped' } });
  await boxes.service.kill();
  await boxes.service.start();
  const stopped = await boxes.phase('box', 'Stopped');
  t.is(condition(stopped, 'StateSaved'), 'True Saved');
  const held = holdersOf(boxes.service.databaseUrl);
  const digest = textAt(stopped, 'status', 'snapshot', 'digest');
  await until('the last snapshot is all that is kept, and by the Sandbox', async () => {
    const rows = await held();
    return rows.length === 1 && rows[0] === `${textAt(stopped, 'metadata', 'uid')} ${digest}`;
  });
  await boxes.patch('box', { spec: { state: 'Running' } });
  await boxes.phase('box', 'Running', 4);
  t.is(await boxes.said('box', 4, '1\n2\n3\n4\n'), '1\n2\n3\n4\n');
  t.is(numberAt(await boxes.get('box'), 'status', 'attempt', 'epoch'), 4);
});
