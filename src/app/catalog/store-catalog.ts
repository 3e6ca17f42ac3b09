/**
 * Brings the stored catalogs in step with their files: what is new is created, what differs is replaced, what the
 * files no longer name is deleted, and what is equal is left alone. Run again after it was cut off, it does what is left.
 */
import type { Actors } from '../../../actors/open.js';
import type { Address } from '../../api/address.js';
import { decodeObject } from '../../api/encode.js';
import { equalJson } from '../../api/equal.js';
import type { ApiObject } from '../../api/object.js';
import { RefusalError } from '../../api/refusal.js';
import { CATALOG_ORG, CATALOG_PROJECT } from '../../brand.js';
import type { KindDefinition } from '../../kinds/kind.js';
import { CATALOG_FILES, type CatalogObject } from './read-catalog.js';

export interface CatalogDeps {
  write: Actors['write'];
  readonly resources: Pick<Actors['resources'], 'list'>;
}

/** How many objects were touched. */
export interface CatalogChanges {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** Writes under way at once: as many as one commit takes together. */
const AT_ONCE = 16;

export async function keepCatalog(
  objects: readonly CatalogObject[],
  deps: CatalogDeps,
  signal: AbortSignal,
): Promise<CatalogChanges> {
  const kept = { added: 0, changed: 0, removed: 0 };
  const gone: (() => Promise<void>)[] = [];
  for (const [, kind] of CATALOG_FILES) {
    const wanted = objects.filter((object) => object.kind === kind);
    const stored = await storedObjects(kind, deps, signal);
    await together(wanted, async ({ address, spec, annotations }) => {
      const before = stored.get(address.name);
      const noted = before?.metadata.annotations ?? {};
      if (before !== undefined && equalJson(before.spec, spec) && equalJson(noted, annotations ?? {})) return;
      const body = { metadata: { name: address.name, ...(annotations && { annotations }) }, spec };
      await done(deps.write(address, { verb: before === undefined ? 'create' : 'replace', body }));
      if (before === undefined) kept.added += 1;
      else kept.changed += 1;
    });
    const names = new Set(wanted.map(({ address }) => address.name));
    const project = kind.scope === 'project' ? CATALOG_PROJECT : '';
    for (const name of stored.keys()) {
      if (names.has(name)) continue;
      gone.push(async () => {
        const address: Address = { org: CATALOG_ORG, kind: kind.kind, project, name };
        await done(deps.write(address, { verb: 'delete', options: {} }));
        kept.removed += 1;
      });
    }
  }
  // Last, so that nothing that stays has named what goes.
  await together(gone, (remove) => remove());
  return kept;
}

async function storedObjects(
  kind: KindDefinition,
  { resources }: CatalogDeps,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ApiObject>> {
  const page = await resources.list({ range: { org: CATALOG_ORG, kind }, signal });
  const objects = new Map<string, ApiObject>();
  for await (const bodies of page.items) {
    for (const body of bodies) {
      const object = decodeObject(body);
      objects.set(object.metadata.name, object);
    }
  }
  return objects;
}

async function done(write: ReturnType<Actors['write']>): Promise<void> {
  const reply = await write;
  if (reply.outcome === 'Refused') throw new RefusalError(reply.refusal);
}

async function together<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += AT_ONCE) {
    await Promise.all(items.slice(from, from + AT_ONCE).map(work));
  }
}
