/** A crash loop in one actor parks that object only, and an operator brings it back. */
import test from 'ava';
import { Client as Database } from 'pg';
import { objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { shareRestarted } from './restarted.js';

const SECRETS = path('secrets', 'default');

test.serial(
  'an actor that crashes again and again is parked, its neighbours go on, and an operator restarts it',
  async (t) => {
    const { service, close } = await shareRestarted();
    t.teardown(close);
    const made = await service.client().post(SECRETS, objectOf('Secret', 'sick', { stringData: { A: '1' } }));
    t.is(made.status, 201);
    t.is((await service.client().post(SECRETS, objectOf('Secret', 'well', { stringData: { A: '1' } }))).status, 201);

    // A state that no program could have written: whoever reads it fails.
    await service.kill();
    const database = new Database({ connectionString: service.databaseUrl });
    await database.connect();
    t.teardown(() => database.end());
    await database.query("update objects set private = 'no JSON' where name = 'sick'");
    await service.start();
    const client = service.client();
    const patch = (name: string) => client.merge(`${SECRETS}/${name}`, { spec: { stringData: { B: 'hunter2' } } });

    const refused = await until('it is parked', async () => {
      const answer = await patch('sick');
      t.true(answer.status === 500 || answer.status === 503, answer.text);
      t.is(textAt(answer.body, 'kind'), 'Status', answer.text);
      t.false(answer.text.includes('hunter2') || answer.text.includes('    at '), answer.text);
      return answer.status === 503 && /parked/.test(textAt(answer.body, 'message')) ? answer : undefined;
    });
    t.truthy(refused.headers.get('retry-after'));
    t.is((await client.get(`${SECRETS}/sick`)).status, 200, 'it can still be read');
    t.is((await patch('well')).status, 200);
    t.is((await client.post(SECRETS, objectOf('Secret', 'new', {}))).status, 201);

    const uid = textAt(made.body, 'metadata', 'uid');
    const seen = await client.get(`/ops/v1/actors/${uid}`);
    t.is(seen.status, 200, seen.text);
    t.is(valueAt(seen.body, 'parked'), true, seen.text);
    const kinds = await client.get('/ops/v1/supervisors');
    t.is(kinds.status, 200);
    t.true(kinds.text.includes('Secret'));

    await database.query('update objects set private = \'{"sizes":{"A":1}}\' where name = \'sick\'');
    const restarted = await client.post(`/ops/v1/actors/${uid}/restarts`, {});
    t.true(restarted.status >= 200 && restarted.status < 300, restarted.text);
    await until('it works again', async () => (await patch('sick')).status === 200);
    t.pass();
  },
);
