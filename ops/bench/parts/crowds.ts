/** What the largest collections take: fifty watchers that begin with all of one, its deletion, and that of its project. */
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '../figure.js';
import { call, unexpected } from '../load.js';
import { round } from '../numbers.js';
import { SERVICE_ACCOUNT } from '../objects.js';
import { peakOf } from '../peak.js';
import type { Service } from '../service.js';
import { fill } from './plain.js';

const OBJECTS = 100_000;
const WATCHERS = 50;
/** Passivation, with its sweep, and a collection of garbage. */
const SETTLE_SECONDS = 25;
const MOST_MS = 900_000;
const MOST_MIB = 300;
const PROJECT = 'crowd';

export const crowds: Part = {
  name: 'crowds',
  about: `collections of ${OBJECTS} objects: ${WATCHERS} watches with all of it first, deletecollection, deletion of the project`,
  async run(context) {
    const service = await context.fresh({ env: { TROUPE_PASSIVATION_SECONDS: '5' } });
    await fill(service, SERVICE_ACCOUNT, OBJECTS);
    await sleep(SETTLE_SECONDS * 1_000);
    const idle = (await service.memory()).service;
    const watching = timed(Promise.all(Array.from({ length: WATCHERS }, () => initialState(service))));
    const watched = await peakOf(service, watching);
    context.log('watches are measured');
    const deleting = timed(deleteAll(service));
    const deleted = await peakOf(service, deleting);
    context.log('deletecollection is measured');

    await post(service, '/api/v1/namespaces', JSON.stringify({ metadata: { name: PROJECT } }));
    await fill(service, SERVICE_ACCOUNT, OBJECTS, { path: inProject(service) });
    await sleep(SETTLE_SECONDS * 1_000);
    const idleAgain = (await service.memory()).service;
    const removing = timed(deleteProject(service));
    const removed = await peakOf(service, removing);
    const over = (name: string, value: number, from: number) =>
      ({ name: `${name}, memory over idle`, value: round(value - from), unit: 'MiB', atMost: MOST_MIB }) as const;
    const took = (name: string, ms: number) => ({ name, value: round(ms), unit: 'ms' }) as const;
    return [
      { name: `resident with ${OBJECTS.toLocaleString('en')} objects, idle`, value: round(idle), unit: 'MiB' },
      over(`${WATCHERS} initial watches`, watched, idle),
      took(`${WATCHERS} initial watches`, await watching),
      over('deletecollection', deleted, idle),
      took('deletecollection', await deleting),
      over('deletion of a project', removed, idleAgain),
      took('deletion of a project', await removing),
    ];
  },
};

async function timed(work: Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work;
  return performance.now() - start;
}

function inProject(service: Service): string {
  return service.path(SERVICE_ACCOUNT.plural).replace('/default/', `/${PROJECT}/`);
}

async function post(service: Service, path: string, body: string): Promise<void> {
  const { status, body: said } = await call(service, service.request('POST', path, body));
  if (status !== 201) throw unexpected(status, said, 201);
}

/** Resolves with the bookmark that ends the initial state. */
function initialState(service: Service): Promise<void> {
  const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const authorization = /Authorization: (.*)\r\n/.exec(service.request('GET', '/').toString('latin1'))?.[1] ?? '';
  const path = `${service.path(SERVICE_ACCOUNT.plural)}?${query}`;
  return new Promise((done, failed) => {
    const options = { port: service.port, host: '127.0.0.1', path, headers: { authorization }, agent: false };
    const request = get(options, (response) => {
      let end = '';
      response.on('data', (chunk: Buffer) => {
        // The mark is the last of what comes; nothing is written beside it.
        end = (end + chunk.toString('latin1', Math.max(0, chunk.length - 400))).slice(-400);
        if (!end.includes('initial-events-end')) return;
        done();
        response.destroy();
      });
      response.on('close', () => failed(new Error('a watch ended before its initial state')));
      response.on('error', failed);
    });
    request.on('error', failed);
  });
}

/** Reads the answer and keeps nothing of it. */
function deleteAll(service: Service): Promise<void> {
  return new Promise((done, failed) => {
    const authorization = /Authorization: (.*)\r\n/.exec(service.request('GET', '/').toString('latin1'))?.[1] ?? '';
    const path = service.path(SERVICE_ACCOUNT.plural);
    const options = { port: service.port, host: '127.0.0.1', path, method: 'DELETE', headers: { authorization } };
    const request = get({ ...options, agent: false }, (response) => {
      if (response.statusCode !== 200) failed(new Error(`deletecollection answered ${response.statusCode}`));
      response.resume();
      response.on('end', done);
      response.on('error', failed);
    });
    request.on('error', failed);
  });
}

async function deleteProject(service: Service): Promise<void> {
  const path = `/api/v1/namespaces/${PROJECT}`;
  const { status, body } = await call(service, service.request('DELETE', path));
  if (status !== 200) throw unexpected(status, body, 200);
  const until = performance.now() + MOST_MS;
  while (performance.now() < until) {
    if ((await call(service, service.request('GET', path))).status === 404) return;
    await sleep(500);
  }
  throw new Error('the project was not gone in time');
}
