import test from 'ava';
import { serviceRequest } from '../../actors/caller.js';
import type { WriteReply } from '../../actors/resource-service.js';
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { refuse } from '../../src/api/refusal.js';
import { openTestDatabase } from '../support/postgres.js';
import { counterAt, openRuntime, ORG, until } from './runtime-fixture.js';

test('a create is answered with what is stored, and a second one of the same name is told so', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  const made = await runtime.make('one', { note: 'hello' });
  t.is(made.outcome, 'Done');
  const read = await runtime.actors.resources.read(counterAt('one'), AbortSignal.timeout(5_000));
  t.deepEqual(read && decodeObject(read), made.outcome === 'Done' ? decodeObject(made.body) : undefined);
  const again = await runtime.make('one');
  t.is(again.outcome === 'Refused' && again.refusal.code, 'AlreadyExists');
  await runtime.drop();
});

test('concurrent patches of one object are all kept, one version each', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  await runtime.make('hot');
  const replies = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      runtime.write(counterAt('hot'), {
        verb: 'patch',
        patch: { type: 'merge', patch: { metadata: { labels: { [`k${i}`]: 'v' } } } },
      }),
    ),
  );
  const versions = replies.map((reply) => (reply.outcome === 'Done' ? Number(reply.etag) : 0));
  t.is(new Set(versions).size, 50);
  const body = await runtime.actors.resources.read(counterAt('hot'), AbortSignal.timeout(5_000));
  t.is(body && Object.keys(decodeObject(body).metadata.labels ?? {}).length, 50);
  await runtime.drop();
});

test('a message that a commit asked for arrives exactly once, although its sender is gone by then', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  await runtime.make('receiver');
  await Promise.all(Array.from({ length: 20 }, (_, i) => runtime.make(`sender-${i}`, { tell: 'receiver' })));
  await until(async () => (await runtime.status('receiver'))?.['told'] === 20, 'all messages were counted');
  await until(() => runtime.actors.health().effects === 0, 'no effect is left');
  t.is((await runtime.status('receiver'))?.['told'], 20);
  await runtime.drop();
});

test('effects and timers that were stored before a crash are carried out by the next process', async (t) => {
  const { url } = await openTestDatabase(t);
  const first = await openRuntime(url);
  await first.make('receiver');
  await first.make('sleeper', { wakeIn: 300 });
  const made = Array.from({ length: 30 }, (_, i) => first.make(`sender-${i}`, { tell: 'receiver' }));
  await Promise.all(made);
  await first.drop();
  const second = await openRuntime(url);
  await until(async () => Number((await second.status('receiver'))?.['told']) >= 30, 'every message arrived');
  await until(async () => Number((await second.status('sleeper'))?.['timers']) >= 1, 'the timer fired');
  t.pass();
  await second.drop();
});

test('an actor that crashes again and again is parked with a condition, its neighbours go on, and an operator frees it', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  await runtime.make('bad', { crashOn: 'Updated' });
  await runtime.make('good');
  const poke = (name: string, note: string) =>
    runtime.write(counterAt(name), { verb: 'patch', patch: { type: 'merge', patch: { spec: { note } } } });
  for (let i = 0; i < 6; i += 1) {
    const reply = await poke('bad', `n${i}`);
    t.is(reply.outcome === 'Refused' && reply.refusal.code, 'InternalError');
  }
  const parked = await poke('bad', 'x');
  t.is(parked.outcome === 'Refused' && parked.refusal.code, 'Unavailable');
  t.is((await poke('good', 'fine')).outcome, 'Done');
  const status = (await runtime.status('bad')) as { conditions?: { type: string; status: string; message: string }[] };
  const condition = status.conditions?.find(({ type }) => type === 'ActorHealthy');
  t.is(condition?.status, 'False');
  t.true(condition?.message.includes('TypeError'));
  t.false(condition?.message.includes('told to crash'));
  t.true(runtime.crashes.some(({ parked: isParked }) => isParked));
  await runtime.actors.operators.restartActor(counterAt('bad'));
  t.is(runtime.actors.operators.actor(counterAt('bad')).parked, false);
  const healed = (await runtime.status('bad')) as { conditions?: { type: string; status: string }[] };
  t.is(healed.conditions?.find(({ type }) => type === 'ActorHealthy')?.status, 'True');
  const afterwards = await poke('bad', 'y');
  t.is(afterwards.outcome === 'Refused' && afterwards.refusal.code, 'InternalError');
  await runtime.drop();
});

test('what is parked is listed a page at a time, and is forgotten with its object', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  const { operators } = runtime.actors;
  for (const name of ['bad-1', 'bad-2', 'bad-3']) {
    await runtime.make(name, { crashOn: 'Updated' });
    const patch = (note: string) => ({ type: 'merge', patch: { spec: { note } } }) as const;
    for (let i = 0; i < 6; i += 1) await runtime.write(counterAt(name), { verb: 'patch', patch: patch(`n${i}`) });
  }
  const first = operators.parked('Counter', 2);
  t.deepEqual(
    first.items.map(({ address }) => address.name),
    ['bad-1', 'bad-2'],
  );
  const rest = operators.parked('Counter', 2, first.next);
  t.deepEqual([rest.items.map(({ address }) => address.name), rest.next], [['bad-3'], undefined]);
  await operators.restartActor(counterAt('bad-1'));
  const crash = { type: 'merge', patch: { spec: { note: 'again' } } } as const;
  await runtime.write(counterAt('bad-1'), { verb: 'patch', patch: crash });
  t.is(operators.actor(counterAt('bad-1')).restarts, 1);
  t.is((await runtime.write(counterAt('bad-1'), { verb: 'delete', options: {} })).outcome, 'Done');
  t.is(operators.actor(counterAt('bad-1')).restarts, 0);
  await runtime.drop();
});

test('a create that always crashes parks nothing, since there is no object to park', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  for (let i = 0; i < 7; i += 1) {
    const reply = await runtime.make('never', { crashOn: 'Created' });
    t.is(reply.outcome === 'Refused' && reply.refusal.code, 'InternalError');
  }
  t.deepEqual(runtime.actors.operators.parked('Counter', 10), { items: [], next: undefined });
  t.is((await runtime.make('never')).outcome, 'Done', 'the name is good for another');
  await runtime.drop();
});

test('a handler that hangs is seen although its mailbox is empty (I13)', async (t) => {
  let answer = (): void => undefined;
  let hangs = false;
  const beforeSlots = (): Promise<void> | void => {
    if (hangs) return new Promise((resolve) => (answer = resolve));
  };
  const runtime = await openRuntime((await openTestDatabase(t)).url, { passivateAfterMs: 1, beforeSlots });
  await runtime.make('one');
  await until(() => runtime.actors.sizes().actors === 0, 'the actor was let go');
  hangs = true;
  const patched = runtime.write(counterAt('one'), {
    verb: 'patch',
    patch: { type: 'merge', patch: { spec: { note: 'x' } } },
  });
  await until(() => runtime.actors.health().oldestMessageMs > 50, 'its age is seen');
  t.is(runtime.actors.operators.actor(counterAt('one')).mailboxDepth, 0);
  t.true((runtime.actors.operators.supervisors().find(({ kind }) => kind === 'Counter')?.oldestMs ?? 0) > 50);
  hangs = false;
  answer();
  t.is((await patched).outcome, 'Done');
  await until(() => runtime.actors.health().oldestMessageMs === 0, 'nothing waits any more');
  await runtime.drop();
});

test('storage that does not answer crashes and parks nobody, and messages wait for it', async (t) => {
  let away = false;
  const beforeSlots = (): void => {
    if (away) throw refuse('Unavailable', 'storage did not answer');
  };
  const runtime = await openRuntime((await openTestDatabase(t)).url, { passivateAfterMs: 1, beforeSlots });
  await runtime.make('one');
  await until(() => runtime.actors.sizes().actors === 0, 'the actor was let go');
  away = true;
  for (let i = 0; i < 10; i += 1) {
    const patch = { type: 'merge', patch: { spec: { note: `n${i}` } } } as const;
    const reply = await runtime.write(counterAt('one'), { verb: 'patch', patch });
    t.is(reply.outcome === 'Refused' && reply.refusal.code, 'Unavailable');
  }
  await runtime.make('sender', { tell: 'one' });
  await until(() => (runtime.actors.operators.actor(counterAt('one')).mailboxDepth ?? 0) > 0, 'the message waits');
  away = false;
  await until(async () => (await runtime.status('one'))?.['told'] === 1, 'the message arrived');
  t.deepEqual(runtime.crashes, []);
  t.is(runtime.actors.operators.actor(counterAt('one')).parked, false);
  await runtime.drop();
});

test('a book is rebuilt from its rows when a passivated actor wakes', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url, { passivateAfterMs: 1 });
  await runtime.make('keeper', { slots: 7 });
  await until(() => runtime.actors.sizes().actors === 0, 'the actor was let go');
  await runtime.make('sender', { tell: 'keeper' });
  await until(async () => (await runtime.status('keeper'))?.['phase'] === '7', 'the book had its rows again');
  t.is((await runtime.status('keeper'))?.['told'], 1);
  await runtime.drop();
});

test('deleting an owner in the foreground waits for its children, and in the background does not', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  for (const policy of ['Foreground', 'Background'] as const) {
    const owner = await runtime.make(`owner-${policy.toLowerCase()}`);
    const uid = owner.outcome === 'Done' ? decodeObject(owner.body).metadata.uid : '';
    const name = `child-${policy.toLowerCase()}`;
    const reference = { apiVersion: 'svc.dev/v1', kind: 'Counter', name: `owner-${policy.toLowerCase()}`, uid };
    await runtime.write(counterAt(name), {
      verb: 'create',
      body: { metadata: { name, finalizers: ['example.com/hold'], ownerReferences: [reference] }, spec: {} },
    });
    const owned = counterAt(`owner-${policy.toLowerCase()}`);
    await runtime.write(owned, { verb: 'delete', options: { propagationPolicy: policy } });
    const childGoing = async () => {
      const body = await runtime.actors.resources.read(counterAt(name), AbortSignal.timeout(5_000));
      return body !== undefined && decodeObject(body).metadata.deletionTimestamp !== undefined;
    };
    await until(childGoing, 'the child is asked to go');
    const still = await runtime.actors.resources.read(owned, AbortSignal.timeout(5_000));
    t.is(still !== undefined, policy === 'Foreground');
    await runtime.write(counterAt(name), {
      verb: 'patch',
      patch: { type: 'merge', patch: { metadata: { finalizers: null } } },
    });
    await until(
      async () => (await runtime.actors.resources.read(owned, AbortSignal.timeout(5_000))) === undefined,
      'the owner is gone',
    );
  }
  await runtime.drop();
});

test('the same Idempotency-Key answers with the first response, and a different request under it is refused', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  const ask = (name: string, fingerprint: string) =>
    runtime.write(counterAt(name), {
      verb: 'create',
      body: { metadata: { name }, spec: {} },
      idempotency: { key: 'k-1', fingerprint },
    });
  const first = await ask('once', 'f-1');
  const second = await ask('once', 'f-1');
  t.is(second.outcome === 'Done' && second.replayed, true);
  t.deepEqual(second.outcome === 'Done' && second.body.toString(), first.outcome === 'Done' && first.body.toString());
  const other = await ask('twice', 'f-2');
  t.is(other.outcome === 'Refused' && other.refusal.code, 'IdempotencyKeyReused');
  t.is(await runtime.status('twice'), undefined);
  await runtime.drop();
});

test('a rehearsed create of a name that is taken is told so, and hides the object from nobody behind it', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url, { passivateAfterMs: 1, cacheBytes: 1 });
  await runtime.make('taken');
  await until(() => runtime.actors.sizes().actors === 0, 'the actor was let go');
  const body = { metadata: { name: 'taken' }, spec: {} };
  const rehearsal = runtime.write(counterAt('taken'), { verb: 'create', body, dryRun: true });
  const patch = { type: 'merge', patch: { spec: { note: 'there' } } } as const;
  const patched = runtime.write(counterAt('taken'), { verb: 'patch', patch });
  const reply = await rehearsal;
  t.is(reply.outcome === 'Refused' && reply.refusal.code, 'AlreadyExists');
  t.is((await patched).outcome, 'Done');
  await runtime.drop();
});

test('a patch that is repeated under its key is answered from the store, also when it changes nothing any more', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  await runtime.make('one');
  const ask = (note: string, fingerprint: string) =>
    runtime.write(counterAt('one'), {
      verb: 'patch',
      patch: { type: 'merge', patch: { spec: { note } } },
      idempotency: { key: 'k-2', fingerprint },
    });
  const first = await ask('a', 'f-1');
  const again = await ask('a', 'f-1');
  t.is(again.outcome === 'Done' && again.replayed, true);
  t.is(again.outcome === 'Done' && again.etag, first.outcome === 'Done' && first.etag);
  const other = await ask('a', 'f-2');
  t.is(other.outcome === 'Refused' && other.refusal.code, 'IdempotencyKeyReused');
  await runtime.drop();
});

test('a patch that changed nothing is not applied by its repeat, although somebody has written since', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  await runtime.make('one', { note: 'a' });
  const ask = (note: string, key?: string) =>
    runtime.write(counterAt('one'), {
      verb: 'patch',
      patch: { type: 'merge', patch: { spec: { note } } },
      idempotency: key === undefined ? undefined : { key, fingerprint: note },
    });
  const first = await ask('a', 'k-3');
  t.is(first.outcome === 'Done' && first.replayed, undefined);
  await ask('b');
  const again = await ask('a', 'k-3');
  t.is(again.outcome === 'Done' && again.replayed, true);
  t.deepEqual(again.outcome === 'Done' && again.body.toString(), first.outcome === 'Done' && first.body.toString());
  const body = await runtime.actors.resources.read(counterAt('one'), AbortSignal.timeout(5_000));
  t.like(body && decodeObject(body), { spec: { note: 'b' } });
  const other = await ask('b', 'k-3');
  t.is(other.outcome === 'Refused' && other.refusal.code, 'IdempotencyKeyReused');
  await runtime.drop();
});

test('an owner that goes in the foreground does not wait for a child that has another owner', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  const uids: Record<string, string> = {};
  for (const name of ['first', 'second']) {
    const made = await runtime.make(name);
    uids[name] = made.outcome === 'Done' ? decodeObject(made.body).metadata.uid : '';
  }
  const ownerReferences = ['first', 'second'].map((name) => ({
    apiVersion: 'svc.dev/v1',
    kind: 'Counter',
    name,
    uid: uids[name],
  }));
  const body = { metadata: { name: 'shared', ownerReferences }, spec: {} };
  await runtime.write(counterAt('shared'), { verb: 'create', body });
  await runtime.write(counterAt('first'), { verb: 'delete', options: { propagationPolicy: 'Foreground' } });
  await until(async () => (await runtime.status('first')) === undefined, 'the owner is gone');
  const shared = await runtime.actors.resources.read(counterAt('shared'), AbortSignal.timeout(5_000));
  t.deepEqual(shared && decodeObject(shared).metadata.ownerReferences?.map(({ name }) => name), ['second']);
  await runtime.drop();
});

test('a circle of owners, an object that owns itself, and a child in another project hold up no deletion', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  const elsewhere: Address = { org: ORG, kind: 'Namespace', project: '', name: 'elsewhere' };
  await runtime.actors.write(elsewhere, { verb: 'create', body: { metadata: { name: 'elsewhere' } } });
  const uidOf = (reply: WriteReply): string => (reply.outcome === 'Done' ? decodeObject(reply.body).metadata.uid : '');
  const own = (name: string, uid: string) => ({ apiVersion: 'svc.dev/v1', kind: 'Counter', name, uid });
  const names = ['alone', 'first', 'second', 'third', 'near'];
  const uids: Record<string, string> = {};
  for (const name of names) uids[name] = uidOf(await runtime.make(name));
  const owned = (name: string, owner: string) =>
    runtime.write(counterAt(name), {
      verb: 'patch',
      patch: { type: 'merge', patch: { metadata: { ownerReferences: [own(owner, uids[owner] ?? '')] } } },
    });
  await owned('alone', 'alone');
  for (const [name, owner] of [
    ['second', 'first'],
    ['third', 'second'],
    ['first', 'third'],
  ] as const)
    t.is((await owned(name, owner)).outcome, 'Done');
  const far = { ...counterAt('far'), project: 'elsewhere' };
  const body = { metadata: { name: 'far', ownerReferences: [own('near', uids['near'] ?? '')] }, spec: {} };
  const caller = { ...serviceRequest(ORG, { verb: 'create', body }).caller, holder: 'someone' };
  const refused = await runtime.write(far, { verb: 'create', body, caller });
  t.is(refused.outcome === 'Refused' && refused.refusal.code, 'Invalid');
  t.is(refused.outcome === 'Refused' && refused.refusal.causes?.[0]?.field, 'metadata.ownerReferences[0]');
  t.is(
    (
      await runtime.write(counterAt('here'), {
        verb: 'create',
        body: { ...body, metadata: { ...body.metadata, name: 'here' } },
        caller,
      })
    ).outcome,
    'Done',
  );
  // As an earlier version let it be made.
  t.is((await runtime.write(far, { verb: 'create', body })).outcome, 'Done');
  for (const name of ['alone', 'first', 'near'])
    await runtime.write(counterAt(name), { verb: 'delete', options: { propagationPolicy: 'Foreground' } });
  for (const address of [...names.map(counterAt), counterAt('here'), far])
    await until(
      async () => (await runtime.actors.resources.read(address, AbortSignal.timeout(5_000))) === undefined,
      `${address.name} is gone`,
    );
  await runtime.drop();
});

test('a timer that fires late, for an earlier arming or once more, changes nothing', async (t) => {
  const { url } = await openTestDatabase(t);
  let runtime = await openRuntime(url);
  await runtime.make('w', { wakeIn: 3_600_000 });
  const [row] = await runtime.store.pending.timersDue(Number.MAX_SAFE_INTEGER / 1_000, 10);
  const { uid, timer, generation = 0 } = row ?? { uid: '', timer: '' };
  t.true(generation > 0);
  const fire = (of: number) =>
    runtime.actors.router.deliver(counterAt('w'), uid, { type: 'TimerFired', timer, generation: of });
  t.is(await fire(generation - 1), 'Done');
  t.is((await runtime.status('w'))?.['timers'], 0);
  // Also where the object was loaded anew, and does not know when it was armed.
  await runtime.drop();
  runtime = await openRuntime(url);
  await fire(generation - 1);
  t.is((await runtime.status('w'))?.['timers'], 0);
  await Promise.all([fire(generation), fire(generation)]);
  await fire(generation);
  t.is((await runtime.status('w'))?.['timers'], 1);
  t.deepEqual(await runtime.store.pending.timersDue(Number.MAX_SAFE_INTEGER / 1_000, 10), []);
  await runtime.drop();
});

test('a list is one exact snapshot while objects are written', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  for (let i = 0; i < 20; i += 1) await runtime.make(`c-${String(i).padStart(2, '0')}`);
  const kind = { kind: 'Counter' } as never;
  const page = await runtime.actors.resources.list({ range: { org: ORG, kind }, signal: AbortSignal.timeout(5_000) });
  await runtime.write(counterAt('c-05'), { verb: 'delete', options: {} });
  await runtime.write(counterAt('c-06'), {
    verb: 'patch',
    patch: { type: 'merge', patch: { metadata: { labels: { late: 'yes' } } } },
  });
  const names: string[] = [];
  for await (const bodies of page.items) {
    for (const body of bodies) {
      const { metadata } = decodeObject(body);
      names.push(metadata.name);
      t.is(metadata.labels?.['late'], undefined);
      t.true(Number(metadata.resourceVersion) <= page.version);
    }
  }
  t.is(names.length, 20);
  await runtime.drop();
});
