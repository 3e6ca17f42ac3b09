/**
 * Deletes all objects of a range that match (deletecollection): a list at one version, then one delete per object,
 * a few at a time. Answered with the list of what was asked to go, sent while it goes: nothing is gathered, and a client
 * that leaves ends it. Objects that go or change their mind meanwhile are skipped; any other refusal ends it (the answer
 * is cut off then, when it has begun), and what was deleted before it stays deleted, as in Kubernetes.
 */
import { decodeObject } from '../../src/api/encode.js';
import { refuse, RefusalError } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/resource-service.js';
import { authorise } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';
import { readDeleteOptions } from './delete-options.js';
import { matching, openPage } from './listing.js';
import { readWriteOptions } from './options.js';
import { readScan } from './range.js';
import { streamList } from './stream-list.js';
import { sendWrite, type Done } from './write.js';

/** Deletes under way at once for one request: enough to fill a commit batch, too few to crowd others out. */
const AT_ONCE = 16;
/** The same of a dry run, which waits for no commit: all of it is work of the event loop. */
const REHEARSED_AT_ONCE = 4;

export async function deleteCollection(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  project: string | undefined,
): Promise<void> {
  authorise(caller, kind, project ?? '', '', 'write');
  const bytes = await context.bodies.read(x);
  const write = readWriteOptions(x, bytes);
  if (write.idempotency !== undefined) {
    throw refuse(
      'Unsupported',
      'Idempotency-Key is not supported when a collection is deleted: it can be repeated safely',
    );
  }
  const { options, dryRun } = await readDeleteOptions(x, context.bodies, bytes);
  await context.resources.slice(caller.org);
  const scan = readScan(x, caller, kind, project, 'write');
  const page = await openPage(context, scan, { limit: undefined, mark: undefined, version: { at: 'newest' } }, x.gone);
  const rendering = context.renderings.of({ form: 'object', yaml: false }, kind, 'None');

  const atOnce = dryRun ? REHEARSED_AT_ONCE : AT_ONCE;
  const after = (): string => `{"resourceVersion":"${context.resources.version()}"}`;
  await streamList(x, rendering, removals(), { after }, 'AtOnce');

  // Each group is deleted when it is asked for: when the client leaves, what is left of the collection stays.
  async function* removals(): AsyncGenerator<readonly Buffer[]> {
    for await (const batch of matching(page, scan)) {
      for (let at = 0; at < batch.length; at += atOnce) {
        await context.resources.slice(caller.org);
        const group = await Promise.all(batch.slice(at, at + atOnce).map((body) => remove(body)));
        yield group.flatMap((done) => (done === undefined ? [] : [done.body]));
      }
    }
  }

  async function remove(body: Buffer): Promise<Done | undefined> {
    const { name, namespace = '', uid } = decodeObject(body).metadata;
    const address = { org: scan.range.org, kind: kind.kind, project: namespace, name };
    // The uid pins the incarnation that was listed: one created meanwhile under the same name stays.
    const part = { verb: 'delete', options: { ...options, preconditions: { ...options.preconditions, uid } } } as const;
    try {
      return await sendWrite(context, caller, kind, address, { ...write, dryRun }, [], part);
    } catch (error) {
      if (error instanceof RefusalError && ['NotFound', 'Conflict'].includes(error.refusal.code)) return undefined;
      throw error;
    }
  }
}
