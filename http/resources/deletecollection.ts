/**
 * Deletes all objects of a range that match (deletecollection): a list at one version, then one delete per object,
 * a few at a time. Answered with the list of what was asked to go, sent while it goes: nothing is gathered, and a client
 * that leaves ends it. Objects that go or change meanwhile are skipped. Where an object of the kind may refuse to go, all are
 * asked before the first goes (`check-collection.ts`). A refusal that comes all the same ends it, and what was deleted before it
 * stays deleted, as in Kubernetes: the answer names it, or is cut off when it has begun.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { refuse, RefusalError, type Refusal } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/resource-service.js';
import { authorise } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';
import { checkCollection, type Listed } from './check-collection.js';
import { readDeleteOptions } from './delete-options.js';
import { matching, openPage } from './listing.js';
import { readWriteOptions } from './options.js';
import { readScan } from './range.js';
import { streamList } from './stream-list.js';
import { sendWrite } from './write.js';

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
  if (options.preconditions?.uid !== undefined) {
    const message = 'must be left out: it is of one object, and a collection has many';
    throw refuse('BadRequest', `preconditions.uid ${message}`, {
      causes: [{ field: 'preconditions.uid', reason: 'FieldValueInvalid', message }],
      fix: 'Delete the object by its name, or select it by fieldSelector=metadata.name=…',
    });
  }
  await context.resources.slice(caller.org);
  const scan = readScan(x, caller, kind, project, 'write');
  const page = await openPage(context, scan, { limit: undefined, mark: undefined, version: { at: 'newest' } }, x.gone);
  const rendering = context.renderings.of({ form: 'object', yaml: false }, kind, 'None');
  const slice = (): Promise<void> => context.resources.slice(caller.org);
  const isChecked = kind.collectionDelete === 'AllOrNone';
  const batches = isChecked ? [await checkCollection(kind, listed(), rehearse, slice)] : listed();

  const atOnce = dryRun ? REHEARSED_AT_ONCE : AT_ONCE;
  const after = (): string => `{"resourceVersion":"${context.resources.version()}"}`;
  await streamList(x, rendering, removals(), { after }, 'AtOnce');

  async function* listed(): AsyncGenerator<readonly Listed[]> {
    for await (const batch of matching(page, scan)) {
      yield batch.map((body) => {
        const { name, namespace = '', uid } = decodeObject(body).metadata;
        return { address: { org: scan.range.org, kind: kind.kind, project: namespace, name }, uid };
      });
    }
  }

  // Each group is deleted when it is asked for: when the client leaves, what is left of the collection stays.
  async function* removals(): AsyncGenerator<readonly Buffer[]> {
    let shown = 0;
    for await (const batch of batches) {
      for (let at = 0; at < batch.length; at += atOnce) {
        await slice();
        const group = await Promise.all(batch.slice(at, at + atOnce).map((one) => remove(one, dryRun)));
        const bodies = group.flatMap((removed) => (removed.outcome === 'Removed' ? [removed.body] : []));
        const refused = group.find((removed) => removed.outcome === 'Refused');
        // What has begun shows what went, and is cut; else the refusal itself names it.
        if (refused !== undefined && shown === 0) throw partly(refused.refusal, dryRun ? [] : bodies);
        yield bodies;
        shown += bodies.length;
        if (refused !== undefined) throw new RefusalError(refused.refusal);
      }
    }
  }

  async function rehearse(one: Listed, alongside: ReadonlySet<string>): Promise<Refusal | undefined> {
    const removed = await remove(one, true, alongside);
    return removed.outcome === 'Refused' ? removed.refusal : undefined;
  }

  async function remove(
    { address, uid }: Listed,
    rehearsal: boolean,
    alongside?: ReadonlySet<string>,
  ): Promise<Removed> {
    const preconditions = { ...options.preconditions, uid };
    const part = { verb: 'delete', options: { ...options, preconditions }, alongside } as const;
    try {
      const { body } = await sendWrite(context, caller, kind, address, { ...write, dryRun: rehearsal }, [], part);
      return { outcome: 'Removed', body };
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      return (await isAway(address, uid, error.refusal))
        ? { outcome: 'Away' }
        : { outcome: 'Refused', refusal: error.refusal };
    }
  }

  /** Whether it is gone, or not any more what was asked for. */
  async function isAway(address: Address, uid: string, { code }: Refusal): Promise<boolean> {
    if (code === 'NotFound') return true;
    if (code !== 'Conflict') return false;
    if (!isChecked || options.preconditions?.resourceVersion !== undefined) return true;
    // An object of such a kind may refuse with the same code.
    const body = await context.resources.read(address, x.gone);
    return body === undefined || decodeObject(body).metadata.uid !== uid;
  }
}

type Removed =
  | { readonly outcome: 'Removed'; readonly body: Buffer }
  | { readonly outcome: 'Away' }
  | { readonly outcome: 'Refused'; readonly refusal: Refusal };

/** Names in an answer. */
const NAMED = 10;

/** The refusal of one, with what was deleted before it. */
function partly(refusal: Refusal, bodies: readonly Buffer[]): RefusalError {
  if (bodies.length === 0) return new RefusalError(refusal);
  const names = bodies.slice(0, NAMED).map((body) => `"${decodeObject(body).metadata.name}"`);
  const more = bodies.length > NAMED ? ` and ${bodies.length - NAMED} more` : '';
  const message = `${refusal.message}; deleted before that: ${names.join(', ')}${more}`;
  return new RefusalError({ ...refusal, message });
}
