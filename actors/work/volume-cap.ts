/**
 * Holds what work saves into a Volume to the Volume's `spec.size`, as it is now: the files stay with the engine until they fit, so
 * raising the size lets the save go through.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import { parseBytes } from '../../src/api/quantity.js';
import { refuse } from '../../src/api/refusal.js';
import type { OutputFile } from '../../src/engines/compute/contract/engine.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { VolumeSpec } from '../../src/kinds/volume/schema.js';
import type { ReportDeps } from './reports.js';

export interface VolumeCapDeps {
  readonly kinds: readonly KindDefinition[];
  read(address: Address): Promise<Buffer | undefined>;
  readonly keep: ReportDeps['keep'];
}

/** Keeps an output of an Attempt, or refuses it with QuotaExceeded. */
export function keepWithinVolume({ kinds, read, keep }: VolumeCapDeps): ReportDeps['keep'] {
  async function find(address: Address): Promise<ApiObject | undefined> {
    const body = await read(address);
    return body && decodeObject(body);
  }

  async function volumeOf(attempt: Address, output: string): Promise<ApiObject | undefined> {
    const references = (await find(attempt))?.metadata.ownerReferences ?? [];
    const reference = references.find(({ controller }) => controller === true);
    const kind = kinds.find((candidate) => candidate.kind === reference?.kind);
    if (reference === undefined || kind?.savesInto === undefined) return undefined;
    const owner = await find({ ...attempt, kind: reference.kind, name: reference.name });
    const name = owner?.metadata.uid === reference.uid ? kind.savesInto(owner, output) : undefined;
    return name === undefined ? undefined : find({ ...attempt, kind: 'Volume', name });
  }

  async function check(attempt: Address, { name, logical }: OutputFile): Promise<void> {
    const volume = logical === undefined ? undefined : await volumeOf(attempt, name);
    if (volume === undefined || logical === undefined) return;
    const { size } = volume.spec as VolumeSpec;
    const most = size === undefined ? undefined : parseBytes(size);
    if (most === undefined || logical <= most) return;
    const message = `its files are ${logical} bytes, and Volume "${volume.metadata.name}" takes at most ${size} (spec.size): raise that`;
    throw refuse('QuotaExceeded', message);
  }

  return async (attempt, output) => {
    if (output.error === undefined) await check(attempt, output);
    return keep(attempt, output);
  };
}
