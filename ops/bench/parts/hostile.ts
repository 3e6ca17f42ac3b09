/**
 * Measures what hostile work costs its neighbours: commands in one Sandbox, one after another, first while the machine is quiet and then
 * beside another Sandbox that takes all it can get. Between them they are sold the whole machine.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { availableParallelism } from 'node:os';
import { API_GROUP } from '../../../src/brand.js';
import type { Figure, Part } from '../figure.js';
import { ask, unexpected } from '../load.js';
import { round, Sample } from '../numbers.js';
import type { Service } from '../service.js';

/** A neighbour's command may take so many times as long beside a bomb (p99 by p99). */
const MOST_RATIO = 5;
/** Commands measured beside each bomb, and before and after all of them. */
const COMMANDS = 400;
/** Between two commands (ms): a person or an agent, no load. */
const PAUSE_MS = 5;
/** For a bomb to come to its full size (ms). */
const FUSE_MS = 1_000;

/** Each as a script of `sh` that goes on until it is killed, or until its Sandbox is ended for it. */
const BOMBS: readonly (readonly [name: string, script: string])[] = [
  ['processor hogs', 'for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait'],
  ['a fork bomb', 'perl -e "fork while 1"'],
  ['a bomb of shells', 'while :; do (f() { f | f & }; f); done 2>/dev/null'],
  ['a memory bomb', 'while :; do tail /dev/zero; done 2>/dev/null'],
  ['a flood of output', 'exec yes a line of a program that says too much'],
  ['a disk filler', 'while :; do head -c 256M /dev/zero >/workspace/big; sync; done'],
  [
    'a maker of files',
    'while :; do mkdir /workspace/d; cd /workspace/d; for i in 0 1 2 3 4 5 6 7 8 9; do for j in 0 1 2 3 4 5 6 7 8 9; do : >$i$j; done; done; cd /; rm -rf /workspace/d; done',
  ],
  ['processes that end at once', 'while :; do true & done 2>/dev/null'],
];

export const hostile: Part = {
  name: 'hostile',
  about: 'commands in one Sandbox beside another that exhausts all it can',
  async run(context) {
    const service = await context.fresh();
    const cpus = availableParallelism();
    await create(service, 'neighbour', { cpu: '500m', memory: '256Mi', disk: '1Gi' });
    const quiet = await measure(service, COMMANDS * 2);
    const figures: Figure[] = [
      { name: 'command beside nobody, p50', value: round(quiet.p50, 2), unit: 'ms' },
      { name: 'command beside nobody, p99', value: round(quiet.p99, 2), unit: 'ms' },
    ];
    for (const [index, [name, script]] of BOMBS.entries()) {
      const bomb = `bomb-${index}`;
      await create(service, bomb, { cpu: `${cpus * 1000 - 500}m`, memory: '512Mi', disk: '1Gi' });
      await post(service, `${bomb}/processes`, { command: ['sh', '-c', script] }, 201);
      await sleep(FUSE_MS);
      const beside = await measure(service, COMMANDS);
      await remove(service, bomb);
      figures.push(
        { name: `command beside ${name}, p99`, value: round(beside.p99, 2), unit: 'ms' },
        {
          name: `p99 beside ${name} by p99 beside nobody`,
          value: round(beside.p99 / quiet.p99, 2),
          unit: 'ratio',
          atMost: MOST_RATIO,
        },
      );
      context.log(`${name}: p50 ${round(beside.p50, 2)}, p99 ${round(beside.p99, 2)} ms`);
    }
    await remove(service, 'neighbour');
    return figures;
  },
};

async function measure(service: Service, commands: number): Promise<{ readonly p50: number; readonly p99: number }> {
  const sample = new Sample();
  for (let n = 0; n < commands; n += 1) {
    sample.add(await post(service, 'neighbour/exec', { command: ['true'] }, 200));
    await sleep(PAUSE_MS);
  }
  const [p50 = Number.NaN, p99 = Number.NaN] = sample.quantiles(0.5, 0.99);
  return { p50, p99 };
}

/** Resolves when a command has run in it. */
async function create(service: Service, name: string, resources: object): Promise<void> {
  const spec = { image: 'svc/agent-tools', resources };
  const body = { apiVersion: `${API_GROUP}/v1`, kind: 'Sandbox', metadata: { name }, spec };
  await post(service, '', body, 201);
  await post(service, `${name}/exec?wait=60s`, { command: ['true'] }, 200);
}

/** ms that it took. */
async function post(service: Service, below: string, content: object, expected: number): Promise<number> {
  const path = `${service.path('sandboxes')}${below === '' ? '' : `/${below}`}`;
  const { status, body, ms } = await ask(service, service.request('POST', path, JSON.stringify(content)));
  if (status !== expected) throw unexpected(status, body, expected);
  return ms;
}

async function remove(service: Service, name: string): Promise<void> {
  const path = `${service.path('sandboxes')}/${name}`;
  const { status, body } = await ask(service, service.request('DELETE', path));
  if (status !== 200) throw unexpected(status, body, 200);
  while ((await ask(service, service.request('GET', path))).status !== 404) await sleep(10);
}
