/**
 * Asks every object of a collection whether it may go, before the first one does: for kinds of which some object may refuse. Nothing
 * is deleted when one refuses, and the answer names those that do. Each is asked as if all the others went with it, so that rules
 * about what must be left, such as the last Owner of an org, see the whole request.
 *
 * I10: the names of what was asked are held, of at most 10,000 objects.
 */
import type { Address } from '../../src/api/address.js';
import { refuse, RefusalError, type Refusal } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';

/** One object of the collection. The uid pins the incarnation: one created meanwhile under the same name stays. */
export interface Listed {
  readonly address: Address;
  readonly uid: string;
}

const MOST = 10_000;
/** Asked side by side: all of it is work of the event loop. */
const AT_ONCE = 4;
/** Refusals that the answer shows; no more are looked for. */
const SHOWN = 10;

interface Refused {
  readonly name: string;
  readonly refusal: Refusal;
}

/** `rehearse` answers why the object may not go; undefined: it may, or is gone. Returns what may go. */
export async function checkCollection(
  kind: KindDefinition,
  batches: AsyncIterable<readonly Listed[]>,
  rehearse: (listed: Listed, alongside: ReadonlySet<string>) => Promise<Refusal | undefined>,
  slice: () => Promise<void>,
): Promise<readonly Listed[]> {
  const all: Listed[] = [];
  for await (const batch of batches) {
    all.push(...batch);
    if (all.length > MOST) throw tooMany(kind);
  }
  const alongside = new Set(all.map(({ address }) => address.name));
  const refused: Refused[] = [];
  for (let at = 0; at < all.length && refused.length < SHOWN; at += AT_ONCE) {
    await slice();
    const group = all.slice(at, at + AT_ONCE).map(async (listed) => {
      const refusal = await rehearse(listed, alongside);
      if (refusal !== undefined) refused.push({ name: listed.address.name, refusal });
    });
    await Promise.all(group);
  }
  const [first] = refused;
  if (first !== undefined) throw refuseAll(kind, all.length, first, refused.slice(0, SHOWN));
  return all;
}

function refuseAll(kind: KindDefinition, total: number, first: Refused, refused: readonly Refused[]): RefusalError {
  const names = refused.map(({ name }) => `"${name}"`).join(', ');
  const { code, message, fix } = first.refusal;
  const leave = `fieldSelector=metadata.name!=${first.name}, for example, leaves that one out.`;
  return refuse(code, `none of the ${total} ${kind.plural} is deleted, since ${names} may not be: ${message}`, {
    causes: refused.map(({ name, refusal }) => ({
      field: 'metadata.name',
      reason: refusal.code,
      message: `"${name}": ${refusal.message}`,
    })),
    fix: fix === undefined ? leave : `${fix} ${leave}`,
    target: { kind: kind.kind },
  });
}

function tooMany({ plural }: KindDefinition): RefusalError {
  return refuse(
    'BadRequest',
    `more than ${MOST} ${plural} match: they are checked together before the first is deleted`,
    {
      fix: 'Narrow the request with labelSelector or fieldSelector.',
    },
  );
}
