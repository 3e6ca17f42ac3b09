/** The life of Workspaces and of the Volumes that are their homes, on one running service. */
import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { listAt, numberAt, objectOf, path, textAt, valueAt, type Answer } from '../e2e/client.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { SMALL } from '../jobs/jobs.js';
import { shareWorkspaces } from './shared.js';

const WORKSPACES = path('workspaces', 'default');
const VOLUMES = path('volumes', 'default');

/** On a busy machine what takes a second may take many. */
const PHASE_MS = 60_000;

let service: Running;
test.before(async (t) => {
  t.timeout(120_000);
  service = await shareWorkspaces();
});
test.after.always(() => service?.close());

async function post(plural: string, kind: string, name: string, spec: object): Promise<unknown> {
  const answer = await service.client().post(path(plural, 'default'), objectOf(kind, name, spec));
  if (answer.status !== 201) throw new Error(`create of ${kind} ${name} answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

const volume = (name: string, spec: object = {}): Promise<unknown> => post('volumes', 'Volume', name, spec);
const workspace = (name: string, spec: object): Promise<unknown> =>
  post('workspaces', 'Workspace', name, { resources: SMALL, ...spec });

async function set(name: string, spec: object): Promise<void> {
  const answer = await service.client().merge(`${WORKSPACES}/${name}`, { spec });
  if (answer.status !== 200) throw new Error(answer.text);
}

async function seen(at: string, what: string, holds: (object: unknown) => boolean): Promise<unknown> {
  let last: unknown;
  try {
    return await until(
      `${at} ${what}`,
      async () => {
        last = (await service.client().get(at)).body;
        return holds(last) ? last : undefined;
      },
      PHASE_MS,
    );
  } catch (error) {
    throw new Error(`last seen: ${JSON.stringify(valueAt(last, 'status'))}`, { cause: error });
  }
}

const phase = (name: string, wanted: string, epoch?: number): Promise<unknown> =>
  seen(
    `${WORKSPACES}/${name}`,
    `is ${wanted}`,
    (each) =>
      textAt(each, 'status', 'phase') === wanted &&
      (epoch === undefined || numberAt(each, 'status', 'attempt', 'epoch') === epoch),
  );

function condition(object: unknown, type: string): string {
  const found = listAt(object, 'status', 'conditions').find((each) => textAt(each, 'type') === type);
  return `${textAt(found, 'status')} ${textAt(found, 'reason')}`;
}

function exec(name: string, script: string): Promise<Answer> {
  return service.client().post(`${WORKSPACES}/${name}/exec`, { command: ['sh', '-c', script] });
}

async function said(name: string, script: string): Promise<string> {
  const answer = await exec(name, script);
  if (answer.status !== 200) throw new Error(answer.text);
  return textAt(answer.body, 'stdout');
}

test('What stands in the home is in the Volume when the Workspace is Stopped, comes back with the next start, and outlives it', async (t) => {
  const born = await volume('home');
  t.is(textAt(born, 'status', 'phase'), 'Ready');
  await workspace('desk', { volume: 'home' });
  const running = await phase('desk', 'Running', 1);
  for (const type of ['Scheduled', 'Ready', 'SetupComplete']) t.regex(condition(running, type), /^True /, type);
  for (const type of ['Stopped', 'NodeUnreachable']) t.regex(condition(running, type), /^False /, type);
  // Nobody is led to the program that has the port.
  t.is(condition(running, 'SSHReady'), 'False PortTaken');
  t.is(valueAt(running, 'status', 'connect', 'ssh'), undefined);
  t.is(await said('desk', 'pwd; echo $HOME; ls -A ~ | wc -l'), '/home/svc\n/home/svc\n0\n');
  await said('desk', 'echo precious > ~/file; chmod 640 ~/file; ln -s file ~/link');
  // As the cache of Go's modules, and deeper than a path can say.
  await said('desk', 'mkdir ~/module; echo m > ~/module/file; chmod 555 ~/module');
  await said('desk', `perl -e 'for (1 .. 30) { mkdir "d" x 200; chdir "d" x 200 } open F, ">", "deep"'`);
  const held = (await service.client().get(`${VOLUMES}/home`)).body;
  t.deepEqual(valueAt(held, 'status', 'holder'), {
    attempt: textAt(running, 'status', 'attempt', 'name'),
    epoch: 1,
    kind: 'Workspace',
    name: 'desk',
  });

  await set('desk', { state: 'Stopped' });
  const stopped = await phase('desk', 'Stopped');
  t.is(condition(stopped, 'StateSaved'), 'True Saved');
  t.is(condition(stopped, 'Stopped'), 'True Requested');
  t.regex(textAt(stopped, 'status', 'message'), /^Stopped by \S+$/);
  const saved = (await service.client().get(`${VOLUMES}/home`)).body;
  t.is(textAt(saved, 'status', 'revision'), '1');
  t.is(valueAt(saved, 'status', 'holder'), undefined);
  t.is(valueAt(saved, 'metadata', 'finalizers'), undefined);

  await set('desk', { state: 'Running' });
  await phase('desk', 'Running', 2);
  t.is(await said('desk', 'cat ~/link; stat -c %a ~/file'), 'precious\n640\n');
  t.is(await said('desk', 'cat ~/module/file; stat -c %a ~/module; cd ~; find . -name deep | wc -l'), 'm\n555\n1\n');
  const attempts = await service
    .client()
    .get(`${path('attempts', 'default')}?labelSelector=svc.dev%2Fworkspace%3Ddesk`);
  t.deepEqual(
    listAt(attempts.body, 'items')
      .map((each) => numberAt(each, 'spec', 'epoch'))
      .toSorted((a, b) => a - b),
    [1, 2],
  );

  // Deleted while it runs: the home is saved first.
  await said('desk', 'echo last > ~/word');
  t.is((await service.client().remove(`${WORKSPACES}/desk`)).status, 200);
  await until('it is gone', async () => (await service.client().get(`${WORKSPACES}/desk`)).status === 404, PHASE_MS);
  await workspace('heir', { volume: 'home' });
  await phase('heir', 'Running', 1);
  t.is(await said('heir', 'cat ~/file ~/word'), 'precious\nlast\n');
  // Node cannot remove it.
  await said('heir', 'rm -rf ~/d*');
});

test('A home that is damaged can be entered all the same, and its Workspace says so until a start restores all', async (t) => {
  await volume('damaged');
  await workspace('patient', { volume: 'damaged' });
  await phase('patient', 'Running', 1);
  await said('patient', 'head -c 300000 /dev/urandom > ~/noise');
  await set('patient', { state: 'Stopped' });
  await phase('patient', 'Stopped');
  const kept = (await service.client().get(`${VOLUMES}/damaged`)).body;
  t.is(textAt(kept, 'status', 'revision'), '1');
  const blobs = join(service.dataDir, 'blobs');
  const files = readdirSync(blobs, { recursive: true, encoding: 'utf8' }).map((name) => join(blobs, name));
  const blob = files.find((file) => statSync(file).isFile() && statSync(file).size > 300_000);
  truncateSync(blob ?? '', 200_000);
  await set('patient', { state: 'Running' });
  const running = await phase('patient', 'Running', 2);
  t.is(condition(running, 'StateRestored'), 'False PartlyRestored');
  t.is(await said('patient', 'echo new > ~/new; cat ~/new'), 'new\n');
  await set('patient', { state: 'Stopped' });
  t.is(condition(await phase('patient', 'Stopped'), 'StateSaved'), 'True Saved');
  await set('patient', { state: 'Running' });
  t.is(condition(await phase('patient', 'Running', 3), 'StateRestored'), 'True Restored');
  t.is(await said('patient', 'cat ~/new'), 'new\n');
});

test('A home that is larger than its Volume may be is not saved until the size is raised', async (t) => {
  await volume('small', { size: '1Ki' });
  await workspace('large', { volume: 'small' });
  await phase('large', 'Running', 1);
  // Packed they fit; two names of one file count once, and the hole of a sparse one as its reader sees it.
  await said('large', 'head -c 3000000 /dev/zero > ~/zeros && ln ~/zeros ~/twice && truncate -s 1000 ~/hole');
  await set('large', { state: 'Stopped' });
  const waits = await seen(
    `${WORKSPACES}/large`,
    'says that it is not saved',
    (each) => condition(each, 'StateSaved') === 'False CollectionFailed',
  );
  t.is(textAt(waits, 'status', 'phase'), 'Stopping');
  const { message } = listAt(waits, 'status', 'conditions').find((each) => textAt(each, 'type') === 'StateSaved') as {
    message: string;
  };
  t.regex(message, /3001000 bytes.*Volume "small".*1Ki/);
  t.is(valueAt((await service.client().get(`${VOLUMES}/small`)).body, 'status', 'revision'), undefined);
  t.is((await service.client().merge(`${VOLUMES}/small`, { spec: { size: '3001000' } })).status, 200);
  t.is(condition(await phase('large', 'Stopped'), 'StateSaved'), 'True Saved');
  const kept = (await service.client().get(`${VOLUMES}/small`)).body;
  t.is(textAt(kept, 'status', 'revision'), '1');
  t.is(textAt(kept, 'status', 'used'), '3001000');
  t.is(numberAt(kept, 'status', 'storage', 'bytes'), 3_001_000);
  t.true(numberAt(kept, 'status', 'storage', 'billedBytes') < 100_000);
});

test('A second writer waits for the first, by the name of the reason, and a Volume in use goes only when it is free', async (t) => {
  await volume('shared');
  await workspace('first', { volume: 'shared' });
  await phase('first', 'Running', 1);
  await said('first', 'echo one > ~/who');
  await workspace('second', { volume: 'shared' });
  const waits = await seen(
    `${WORKSPACES}/second`,
    'says why',
    (each) => textAt(each, 'status', 'reason') === 'VolumeBusy',
  );
  t.is(textAt(waits, 'status', 'phase'), 'Pending');
  t.is(condition(waits, 'Scheduled'), 'False VolumeBusy');
  t.is(valueAt(waits, 'status', 'attempt'), undefined, 'nothing of it was made');
  await set('first', { state: 'Stopped' });
  await phase('second', 'Running', 1);
  t.is(await said('second', 'cat ~/who'), 'one\n');

  t.is((await service.client().remove(`${VOLUMES}/shared`)).status, 200);
  const going = await service.client().get(`${VOLUMES}/shared`);
  t.is(going.status, 200, 'somebody writes');
  t.not(textAt(going.body, 'metadata', 'deletionTimestamp'), '');
  const table = await service.client().ask('GET', `${VOLUMES}/shared`, {
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  });
  t.true(table.text.includes('"Terminating"'), table.text);
  await set('first', { state: 'Running' });
  await seen(
    `${WORKSPACES}/first`,
    'waits for what goes',
    (each) => textAt(each, 'status', 'reason') === 'VolumeDeleting',
  );
  await service.client().remove(`${WORKSPACES}/second`);
  await until('it is gone', async () => (await service.client().get(`${VOLUMES}/shared`)).status === 404, PHASE_MS);
  await seen(
    `${WORKSPACES}/first`,
    'hears that it is gone',
    (each) => textAt(each, 'status', 'reason') === 'VolumeNotFound',
  );
});

test('A Workspace whose Volume is gone says what is missing and what to do', async (t) => {
  await volume('passing');
  await workspace('left', { volume: 'passing' });
  await phase('left', 'Running', 1);
  await set('left', { state: 'Stopped' });
  await phase('left', 'Stopped');
  await service.client().remove(`${VOLUMES}/passing`);
  await until('it is gone', async () => (await service.client().get(`${VOLUMES}/passing`)).status === 404, PHASE_MS);
  await set('left', { state: 'Running' });
  const waits = await seen(
    `${WORKSPACES}/left`,
    'says why',
    (each) => textAt(each, 'status', 'reason') === 'VolumeNotFound',
  );
  t.is(textAt(waits, 'status', 'phase'), 'Pending');
  t.regex(textAt(waits, 'status', 'message'), /Volume "passing" does not exist.*create it/);
  t.is(condition(waits, 'Ready'), 'False VolumeNotFound');
  t.regex(
    textAt(
      listAt(waits, 'status', 'conditions').find((each) => textAt(each, 'type') === 'Ready'),
      'message',
    ),
    /create it/,
  );
});

for (const propagationPolicy of ['Foreground', 'Orphan'] as const) {
  test(`Deleted (${propagationPolicy}) while it runs, it ends its work and lets go of its home`, async (t) => {
    const name = `goes-${propagationPolicy.toLowerCase()}`;
    await volume(name);
    await workspace(name, { volume: name });
    await phase(name, 'Running', 1);
    await said(name, 'echo kept > ~/file');
    const answer = await service.client().remove(`${WORKSPACES}/${name}`, { propagationPolicy });
    t.is(answer.status, 200, answer.text);
    await until(
      'it is gone',
      async () => (await service.client().get(`${WORKSPACES}/${name}`)).status === 404,
      PHASE_MS,
    );
    const free = await seen(`${VOLUMES}/${name}`, 'is free', (each) => valueAt(each, 'status', 'holder') === undefined);
    t.is(textAt(free, 'status', 'revision'), '1');
    await until('its Attempts are gone', async () => {
      const at = `${path('attempts', 'default')}?labelSelector=svc.dev%2Fworkspace%3D${name}`;
      return listAt((await service.client().get(at)).body, 'items').length === 0;
    });
  });
}

test('An ephemeral one forgets, and its schedule stops it', async (t) => {
  await workspace('brief', { ephemeral: true });
  await phase('brief', 'Running', 1);
  await said('brief', 'echo it > ~/file');
  await set('brief', { state: 'Stopped' });
  t.is(condition(await phase('brief', 'Stopped'), 'StateSaved'), ' ');
  await set('brief', { state: 'Running' });
  await phase('brief', 'Running', 2);
  t.is(await said('brief', 'ls -A ~; echo again > ~/file'), '');

  const stopAt = new Date(Date.now() + 2_000).toISOString();
  await set('brief', { schedule: { stopAt } });
  const stopped = await phase('brief', 'Stopped');
  t.is(textAt(stopped, 'status', 'stopReason'), 'Schedule');
  t.is(textAt(stopped, 'spec', 'state'), 'Stopped');
  t.true(Date.now() >= Date.parse(stopAt));
  await set('brief', { state: 'Running' });
  await phase('brief', 'Running', 3);
});

test.serial('A service that is killed adopts what runs, and loses no home', async (t) => {
  await volume('kept');
  await workspace('goes-on', { volume: 'kept' });
  await phase('goes-on', 'Running', 1);
  await said('goes-on', 'echo before > ~/file');
  await service.kill();
  await service.start();
  await phase('goes-on', 'Running', 1);
  t.is(await said('goes-on', 'cat ~/file'), 'before\n');
  // In the middle of a stop.
  await set('goes-on', { state: 'Stopped' });
  await service.kill();
  await service.start();
  t.is(condition(await phase('goes-on', 'Stopped'), 'StateSaved'), 'True Saved');
  await set('goes-on', { state: 'Running' });
  await phase('goes-on', 'Running', 2);
  t.is(await said('goes-on', 'cat ~/file'), 'before\n');
});

test('What is not carried out yet is refused by its name', async (t) => {
  const refused = async (kind: string, plural: string, spec: object, field: string): Promise<void> => {
    const answer = await service.client().post(path(plural, 'default'), objectOf(kind, 'not-yet', spec));
    t.is(answer.status, 501, `${field}: ${answer.text}`);
    t.true(answer.text.includes(field), answer.text);
  };
  await refused('Workspace', 'workspaces', { ephemeral: true, resources: { gpu: { count: 1 } } }, 'spec.resources.gpu');
  await refused(
    'Workspace',
    'workspaces',
    { ephemeral: true, placement: { profile: 'Cost' } },
    'spec.placement.profile',
  );
  await refused('Volume', 'volumes', { accessMode: 'ReadOnlyMany' }, 'spec.accessMode');
  await refused('Volume', 'volumes', { source: { upload: {} } }, 'spec.source.upload');
});
