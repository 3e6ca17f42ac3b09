/** kubectl, as a user has it, with the kubeconfig that the first start writes, over TLS. */
import test, { type ExecutionContext } from 'ava';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_VERSION, parsed, path, textAt } from '../e2e/client.js';
import { kubectlWith, missingKubectl, type Kubectl, type Result } from '../e2e/kubectl.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { shareWithWork, type WithWork } from './with-work.js';

const missing = missingKubectl();
const kube = missing === undefined ? test.serial : test.serial.skip;
const title = (name: string): string => (missing === undefined ? name : `${name} (${missing})`);

let shared: WithWork | undefined;
let service: Running;
let kubectl: Kubectl;

test.before(async () => {
  if (missing !== undefined) return;
  shared = await shareWithWork();
  ({ service } = shared);
  kubectl = kubectlWith(service.kubeconfig);
});

test.after.always(() => shared?.close());

function account(name: string, more: { labels?: Record<string, string>; description?: string } = {}): string {
  const spec = { description: more.description ?? 'made by a test' };
  return JSON.stringify({
    apiVersion: API_VERSION,
    kind: 'ServiceAccount',
    metadata: { name, labels: more.labels ?? {} },
    spec,
  });
}

function secret(stringData: Record<string, string>): string {
  return JSON.stringify({
    apiVersion: API_VERSION,
    kind: 'Secret',
    metadata: { name: 'hidden' },
    spec: { stringData },
  });
}

function job(name: string, command: readonly string[]): string {
  const resources = { cpu: '20m', memory: '64Mi', disk: '16Mi' };
  const spec = { command, resources, backoffLimit: 0 };
  return JSON.stringify({ apiVersion: API_VERSION, kind: 'Job', metadata: { name }, spec });
}

async function good(
  t: ExecutionContext,
  args: readonly string[],
  input?: string,
  env?: Record<string, string>,
): Promise<string> {
  const result = await kubectl.run(args, input, env);
  if (result.code !== 0) t.log(`kubectl ${args.join(' ')}\n${result.stdout}\n${result.stderr}`);
  t.is(result.code, 0, `kubectl ${args.join(' ')}: ${result.stderr}`);
  return result.stdout;
}

async function make(t: ExecutionContext, name: string, more: Parameters<typeof account>[1] = {}): Promise<void> {
  await good(t, ['create', '-f', '-'], account(name, more));
}

const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

kube(title('version and cluster-info find the service'), async (t) => {
  t.regex(await good(t, ['version', '-o', 'json']), /serverVersion/);
});

kube(title('api-resources lists every kind with its short names, and api-versions the groups'), async (t) => {
  const resources = await good(t, ['api-resources']);
  for (const row of [
    /^namespaces +ns +v1 +false +Namespace/m,
    /^serviceaccounts +sa +\S+\/v1 +true +ServiceAccount/m,
    /^secrets +\S+\/v1 +true +Secret/m,
    /^jobs .*\/v1 +true +Job/m,
    /^attempts .*Attempt/m,
    /^offerings .*false +Offering/m,
    /^apikeys .*false +APIKey/m,
    /^members .*false +Member/m,
  ]) {
    t.regex(resources, row);
  }
  t.regex(await good(t, ['api-resources', '--namespaced=false', '-o', 'name']), /^namespaces$/m);
  const versions = await good(t, ['api-versions']);
  t.true(lines(versions).includes(API_VERSION));
  t.true(lines(versions).includes('v1'));
});

kube(title('explain tells fields, also recursively'), async (t) => {
  t.regex(await good(t, ['explain', 'serviceaccounts']), /KIND: +ServiceAccount/);
  t.regex(await good(t, ['explain', 'secrets.spec.type']), /Registry/);
  const all = await good(t, ['explain', 'jobs', '--recursive']);
  for (const field of ['metadata', 'ownerReferences', 'completions', 'backoffLimit', 'status'])
    t.true(all.includes(field), field);
});

kube(title('create makes an object, and a second create is AlreadyExists'), async (t) => {
  await make(t, 'twice');
  const again = await kubectl.run(['create', '-f', '-'], account('twice'));
  t.is(again.code, 1);
  t.regex(again.stderr, /AlreadyExists/);
});

kube(title('create --dry-run=server makes nothing'), async (t) => {
  await good(t, ['create', '--dry-run=server', '-f', '-'], account('never'));
  const read = await kubectl.run(['get', 'sa', 'never']);
  t.regex(read.stderr, /NotFound/);
});

kube(title('create refuses a misspelt field, and says which'), async (t) => {
  const body = JSON.stringify({
    apiVersion: API_VERSION,
    kind: 'ServiceAccount',
    metadata: { name: 'misspelt' },
    spec: { descripton: 'x' },
  });
  const made = await kubectl.run(['create', '-f', '-'], body);
  t.is(made.code, 1);
  t.regex(made.stderr, /spec\.descripton/);
});

kube(title('get shows a table, wide shows more, and yaml, json, name and jsonpath their forms'), async (t) => {
  await make(t, 'shown', { description: 'to be shown' });
  const table = await good(t, ['get', 'sa', 'shown']);
  t.regex(lines(table)[0] ?? '', /^NAME +SCOPES +AGE/);
  t.regex(lines(table)[1] ?? '', /^shown /);
  t.regex(await good(t, ['get', 'sa', 'shown', '-o', 'wide']), /to be shown/);
  t.is(
    (await good(t, ['get', 'sa', 'shown', '-o', 'name'])).trim(),
    `serviceaccount.${API_VERSION.split('/')[0]}/shown`,
  );
  t.regex(await good(t, ['get', 'sa', 'shown', '-o', 'yaml']), /^kind: ServiceAccount$/m);
  t.is(textAt(parsed(await good(t, ['get', 'sa', 'shown', '-o', 'json'])), 'metadata', 'name'), 'shown');
  t.is(await good(t, ['get', 'sa', 'shown', '-o', 'jsonpath={.spec.description}']), 'to be shown');
  t.regex(await good(t, ['get', 'sa', 'shown', '-o', 'custom-columns=N:.metadata.name']), /^shown$/m);
  t.regex(await good(t, ['get', 'serviceaccounts,secrets', '-A']), /serviceaccount.*\/shown/);
  t.regex(await good(t, ['get', 'ns']), /^default +Active/m);
  t.is(await good(t, ['get', '--raw', '/livez']).then((text) => text.length > 0), true);
});

kube(title('get of what is not there is NotFound, with exit code 1'), async (t) => {
  const result = await kubectl.run(['get', 'sa', 'absent']);
  t.is(result.code, 1);
  t.regex(result.stderr, /Error from server \(NotFound\)/);
});

kube(title('selectors by label and field, sorting and chunks find the same objects'), async (t) => {
  for (let each = 0; each < 7; each += 1)
    await make(t, `chunk-${each}`, { labels: { batch: 'chunk', odd: String(each % 2) } });
  const names = (text: string): readonly string[] => lines(text).map((line) => line.split('/')[1] ?? '');
  const all = names(await good(t, ['get', 'sa', '-l', 'batch=chunk', '-o', 'name']));
  t.is(all.length, 7);
  t.deepEqual(names(await good(t, ['get', 'sa', '-l', 'batch=chunk', '--chunk-size=2', '-o', 'name'])), all);
  t.is(lines(await good(t, ['get', 'sa', '-l', 'batch=chunk', '--chunk-size=3', '--no-headers'])).length, 7);
  t.is(names(await good(t, ['get', 'sa', '-l', 'batch in (chunk),odd!=0', '-o', 'name'])).length, 3);
  t.deepEqual(names(await good(t, ['get', 'sa', '--field-selector', 'metadata.name=chunk-3', '-o', 'name'])), [
    'chunk-3',
  ]);
  const sorted = await good(t, [
    'get',
    'sa',
    '-l',
    'batch=chunk',
    '--sort-by=.metadata.creationTimestamp',
    '-o',
    'name',
  ]);
  t.is(lines(sorted).length, 7);
});

kube(title('get -w shows changes as they happen'), async (t) => {
  await make(t, 'watched', { labels: { watched: 'yes' } });
  const watch = kubectl.start(['get', 'sa', '-l', 'watched=yes', '-w', '--output-watch-events', '-o', 'wide']);
  t.teardown(() => watch.stop());
  await until('the first row', () => /ADDED +watched/.test(watch.output()));
  await good(t, ['patch', 'sa', 'watched', '--type=merge', '-p', '{"spec":{"description":"changed now"}}']);
  await until('the change', () => /MODIFIED +watched.*changed now/.test(watch.output()));
  await make(t, 'watched-too', { labels: { watched: 'yes' } });
  await until('the new one', () => /ADDED +watched-too/.test(watch.output()));
  await good(t, ['label', 'sa', 'watched-too', 'watched-']);
  await until('that it left the selection', () => /DELETED +watched-too/.test(watch.output()));
  await good(t, ['delete', 'sa', 'watched']);
  await until('the deletion', () => /DELETED +watched /.test(watch.output()));
  t.pass();
});

kube(title('get -w of one object and --watch-only work'), async (t) => {
  await make(t, 'single');
  const watch = kubectl.start(['get', 'sa', 'single', '--watch-only', '-o', 'name']);
  t.teardown(() => watch.stop());
  await until('a change is seen', async () => {
    await good(t, ['annotate', 'sa', 'single', `at=${Date.now()}`, '--overwrite']);
    return watch.output().includes('/single');
  });
  t.pass();
});

kube(title('describe shows the object'), async (t) => {
  await make(t, 'described', { labels: { some: 'label' } });
  const text = await good(t, ['describe', 'sa.v1.svc.dev', 'described']);
  t.regex(text, /Name: +described/);
  t.regex(text, /some=label/);
});

kube(
  title('describe of a Job whose index has failed shows its event, as kubectl events and get events do'),
  async (t) => {
    await good(t, ['create', '-f', '-'], job('fails', ['false']));
    await until('the Job has failed', async () => {
      const phase = await good(t, ['get', 'job', 'fails', '-o', 'jsonpath={.status.phase}']);
      return phase === 'Failed';
    });
    const described = await good(t, ['describe', 'job', 'fails']);
    t.regex(described, /Events:\n +Type +Reason +Age +From +Message\n/);
    t.regex(described, /Warning +Failed +\S+( ago)? +troupe +\S+/);
    for (const args of [['events', '--for', 'job/fails'], ['events'], ['get', 'events']]) {
      t.regex(await good(t, args), /Warning +Failed +job\/fails/i, args.join(' '));
    }
    t.notRegex(await good(t, ['events', '--types', 'Normal']), /job\/fails/i);
    t.is(
      await good(t, ['get', 'events', '--field-selector', 'involvedObject.name=fails,reason=Failed', '-o', 'name']),
      await good(t, ['get', 'events', '--field-selector', 'type=Warning', '--chunk-size=1', '-o', 'name']),
    );
    const name = await good(t, ['get', 'events', '--field-selector', 'involvedObject.name=fails', '-o', 'name']);
    t.regex(await good(t, ['get', name.trim()]), /Warning +Failed +job\/fails/i);
    t.regex(await good(t, ['get', name.trim(), '-o', 'yaml']), /^reason: Failed$/m);
    const watch = kubectl.start(['get', 'events', '-w']);
    t.teardown(() => watch.stop());
    await until('the watch shows what is there', () => watch.output().includes('job/fails'));
    await good(t, ['create', '-f', '-'], job('fails-later', ['false']));
    await until('and what comes', () => watch.output().includes('job/fails-later'));
  },
);

kube(
  title('events --for a Budget, which has no namespace, shows its events without being asked for all namespaces'),
  async (t) => {
    const labels = { team: 'broke' };
    const spec = { limitUSD: '0.000000001', scope: { selector: { matchLabels: labels } } };
    const budget = { apiVersion: API_VERSION, kind: 'Budget', metadata: { name: 'broke' }, spec };
    await good(t, ['create', '-f', '-'], JSON.stringify(budget));
    const work = {
      apiVersion: API_VERSION,
      kind: 'Job',
      metadata: { name: 'unpaid', labels },
      spec: { command: ['true'] },
    };
    const refused = await kubectl.run(['create', '-f', '-'], JSON.stringify(work));
    t.regex(refused.stderr, /\(BudgetExceeded\).*Budget "broke" refuses the hold/);
    await until('the Budget has told of it', async () =>
      /Warning +Exceeded +Budget\/broke/i.test(await good(t, ['events', '--for', 'budget/broke'])),
    );
    t.regex(await good(t, ['describe', 'budget', 'broke']), /Warning +Exceeded/);
  },
);

kube(title('apply creates, then changes nothing, then changes what changed'), async (t) => {
  t.regex(await good(t, ['apply', '-f', '-'], account('applied', { labels: { a: '1', b: '2' } })), /created/);
  const before = await good(t, ['get', 'sa', 'applied', '-o', 'jsonpath={.metadata.resourceVersion}']);
  t.regex(await good(t, ['apply', '-f', '-'], account('applied', { labels: { a: '1', b: '2' } })), /unchanged/);
  t.is(await good(t, ['get', 'sa', 'applied', '-o', 'jsonpath={.metadata.resourceVersion}']), before);
  t.regex(await good(t, ['apply', '-f', '-'], account('applied', { labels: { a: '9' } })), /configured/);
  t.is(await good(t, ['get', 'sa', 'applied', '-o', 'jsonpath={.metadata.labels}']), '{"a":"9"}');
});

kube(title('diff says what apply would change, and nothing once it has'), async (t) => {
  await good(t, ['apply', '-f', '-'], account('differs'));
  const same = await kubectl.run(['diff', '-f', '-'], account('differs'));
  t.is(same.code, 0, same.stdout + same.stderr);
  const other = await kubectl.run(['diff', '-f', '-'], account('differs', { description: 'another' }));
  t.is(other.code, 1, other.stderr);
  t.regex(other.stdout, /^\+ +description: another$/m);
});

kube(title('edit opens the object in an editor and writes back what it left'), async (t) => {
  await make(t, 'edited');
  const editor = join(await mkdtemp(join(tmpdir(), 'troupe-editor-')), 'editor.sh');
  await writeFile(editor, '#!/bin/sh\nsed -i "s/made by a test/edited by hand/" "$1"\n');
  await chmod(editor, 0o755);
  await good(t, ['edit', 'sa', 'edited'], undefined, { KUBE_EDITOR: editor });
  t.is(await good(t, ['get', 'sa', 'edited', '-o', 'jsonpath={.spec.description}']), 'edited by hand');
});

kube(title('patch takes merge and JSON patches, and says that it takes no strategic one'), async (t) => {
  await make(t, 'patched');
  await good(t, ['patch', 'sa', 'patched', '--type=merge', '-p', '{"spec":{"description":"merged"}}']);
  await good(t, [
    'patch',
    'sa',
    'patched',
    '--type=json',
    '-p',
    '[{"op":"add","path":"/metadata/labels","value":{"x":"y"}}]',
  ]);
  const object = parsed(await good(t, ['get', 'sa', 'patched', '-o', 'json']));
  t.like(object, { spec: { description: 'merged' }, metadata: { labels: { x: 'y' } } });
  const strategic = await kubectl.run(['patch', 'sa', 'patched', '--type=strategic', '-p', '{"spec":{}}']);
  t.is(strategic.code, 1);
});

kube(title('label, annotate and replace change the object'), async (t) => {
  await make(t, 'labelled');
  await good(t, ['label', 'sa', 'labelled', 'tier=front']);
  const taken = await kubectl.run(['label', 'sa', 'labelled', 'tier=back']);
  t.is(taken.code, 1);
  await good(t, ['label', 'sa', 'labelled', 'tier=back', '--overwrite']);
  await good(t, ['annotate', 'sa', 'labelled', 'note=some text']);
  t.regex(await good(t, ['get', 'sa', '-l', 'tier=back']), /labelled/);
  t.is(await good(t, ['get', 'sa', 'labelled', '-o', 'jsonpath={.metadata.annotations.note}']), 'some text');
  await good(t, ['replace', '-f', '-'], account('labelled', { description: 'replaced' }));
  t.is(
    await good(t, ['get', 'sa', 'labelled', '-o', 'jsonpath={.spec.description}{.metadata.labels.tier}']),
    'replaced',
  );
});

kube(title('wait waits for a field, a condition and a deletion'), async (t) => {
  await make(t, 'awaited');
  const field = kubectl.start(['wait', 'sa/awaited', '--for=jsonpath={.spec.description}=now', '--timeout=30s']);
  await good(t, ['patch', 'sa', 'awaited', '--type=merge', '-p', '{"spec":{"description":"now"}}']);
  const met: Result = await field.ended;
  t.is(met.code, 0, met.stderr);
  const gone = kubectl.start(['wait', 'sa/awaited', '--for=delete', '--timeout=30s']);
  await good(t, ['delete', 'sa', 'awaited', '--wait=false']);
  t.is((await gone.ended).code, 0);
  const never = await kubectl.run(['wait', 'sa/default', '--for=jsonpath={.spec.description}=never', '--timeout=1s']);
  t.is(never.code, 1);
});

kube(title('delete removes by name, by label and by file, and waits until it is gone'), async (t) => {
  for (const name of ['gone-1', 'gone-2', 'gone-3', 'gone-4'])
    await make(t, name, { labels: { gone: name === 'gone-1' ? 'no' : 'yes' } });
  await good(t, ['delete', 'sa', 'gone-1']);
  await good(t, ['delete', '-f', '-'], account('gone-4'));
  await good(t, ['delete', 'sa', '-l', 'gone=yes']);
  t.false((await good(t, ['get', 'sa', '-o', 'name'])).includes('gone-'));
  t.is((await kubectl.run(['delete', 'sa', 'gone-1'])).code, 1);
  await good(t, ['delete', 'sa', 'gone-1', '--ignore-not-found']);
});

for (const policy of ['background', 'foreground', 'orphan']) {
  kube(title(`delete --cascade=${policy} treats what the object owned accordingly`), async (t) => {
    await make(t, `owner-${policy}`);
    const uid = await good(t, ['get', 'sa', `owner-${policy}`, '-o', 'jsonpath={.metadata.uid}']);
    const ownerReferences = [
      { apiVersion: API_VERSION, kind: 'ServiceAccount', name: `owner-${policy}`, uid, blockOwnerDeletion: true },
    ];
    const child = {
      apiVersion: API_VERSION,
      kind: 'Secret',
      metadata: { name: `child-${policy}`, ownerReferences },
      spec: {},
    };
    await good(t, ['create', '-f', '-'], JSON.stringify(child));
    await good(t, ['delete', 'sa', `owner-${policy}`, `--cascade=${policy}`]);
    const read = (): Promise<Result> =>
      kubectl.run(['get', 'secret', `child-${policy}`, '-o', 'jsonpath={.metadata.ownerReferences}']);
    if (policy === 'orphan') {
      const orphan = await until('the child is released', async () => {
        const result = await read();
        return result.stdout === '' ? result : undefined;
      });
      t.is(orphan.code, 0, orphan.stderr);
    } else if (policy === 'foreground') {
      t.regex((await read()).stderr, /NotFound/);
    } else {
      await until('the child is gone', async () => /NotFound/.test((await read()).stderr));
      t.pass();
    }
  });
}

kube(title('a Secret applied twice and read back shows its keys and never its values'), async (t) => {
  await good(t, ['apply', '-f', '-'], secret({ A: 'hunter2-one', B: 'hunter2-two' }));
  await good(t, ['apply', '-f', '-'], secret({ A: 'hunter2-three' }));
  const yaml = await good(t, ['get', 'secret', 'hidden', '-o', 'yaml', '--show-managed-fields']);
  t.false(yaml.includes('hunter2'));
  t.is(await good(t, ['get', 'secret', 'hidden', '-o', 'jsonpath={.status.keys}']), '["A"]');
});

kube(title('a project is made, used and deleted with what is in it'), async (t) => {
  await good(t, ['create', 'namespace', 'team-k']);
  await until(
    'it has its ServiceAccount',
    async () => (await kubectl.run(['get', 'sa', 'default', '-n', 'team-k'])).code === 0,
  );
  await good(t, ['create', '-n', 'team-k', '-f', '-'], account('inside'));
  await good(t, ['delete', 'namespace', 'team-k']);
  t.regex((await kubectl.run(['get', 'sa', 'inside', '-n', 'team-k'])).stderr, /NotFound/);
  const absent = await kubectl.run(['create', '-n', 'team-k', '-f', '-'], account('late'));
  t.regex(absent.stderr, /NotFound/);
});

kube(title('another key with fewer scopes is Forbidden what it may not do, and says so'), async (t) => {
  const made = await service.client().post(path('apikeys', ''), {
    apiVersion: API_VERSION,
    kind: 'APIKey',
    metadata: { name: 'reader' },
    spec: { scopes: ['serviceaccounts:read'] },
  });
  t.is(made.status, 201, made.text);
  const token = textAt(made.body, 'status', 'key');
  t.is((await kubectl.run(['get', 'sa', '--token', token])).code, 0);
  const refused = await kubectl.run(['create', '-f', '-', '--token', token], account('denied'));
  t.is(refused.code, 1);
  t.regex(refused.stderr, /Forbidden|forbidden/);
});
