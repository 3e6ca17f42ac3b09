/**
 * A process that opens a Docker engine on DOCKER_TEST_HOST with its data in the first argument, has all kinds of things under way in a
 * box, closes the engine, says `closed`, and does nothing else: it ends when nothing of the engine is left.
 */
import { openDockerEngine } from '../../src/engines/compute/docker/open.js';
import { box, Harness, order, printed } from './compute-harness.js';

const [dir = '', clusterId = ''] = process.argv.slice(2);
const host = process.env['DOCKER_TEST_HOST'];
const images = { 'svc/agent-tools': 'troupe-test/tools:1' };
const h = await Harness.over(await openDockerEngine({ dir, clusterId, leaseEpoch: 1, host, images, diskSeconds: 0.2 }));
/** The engine's end may be the end of these, too. */
const under = (promise: Promise<unknown>): void => void promise.catch(() => undefined);

const held = await h.running(box());
await printed(await h.exec(held.id, 'echo ready; exec sleep 600'), 'ready');
const env = { PATH: '/usr/bin:/bin' };
const detached = { work: held.id, id: 'p', command: ['sleep', '600'], env, workingDir: '/' };
await h.engine.startProcess(detached, h.patience());

// What prints without end is still heard while it is removed.
const loud = order('yes');
await h.running(loud);
for await (const _ of h.engine.logs(loud.id, { container: 'main', follow: true }, h.patience())) break;
under(h.lines(held.id, { follow: true }));
await h.engine.remove(loud.id, true, h.patience());

under(h.engine.writeProcess(held.id, 'p', { data: Buffer.from('x'), end: false }, h.patience()));
under(h.engine.startProcess({ ...detached, id: 'q' }, h.patience()));
under(h.tryExec(held.id, 'sleep 600'));
under(h.engine.connect(held.id, 8009, h.patience()));
under(h.start(order('sleep 600')));
under(h.engine.stop(held.id, 600, h.patience()));
await h.close();
process.stdout.write('closed\n');
