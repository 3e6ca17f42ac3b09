/**
 * Three of the annotations that the owner of an Attempt writes when it makes it (those about money are in `../attempts/terms.ts` and `payer.ts`). `place` says what the Attempt's place must have: its spec has no
 * such field (spec, "Attempt"), and reading the owner for it would cost every start a read. `proof` asks for a message when nothing of the
 * work is left: an owner that runs its work in one place only waits for it, and a Job of many indexes is spared these messages. `replaces` says
 * that it brings up what was lost with its capacity, which is charged as Restore and not as Boot (spec, "Cost").
 */
import { formatBytes, formatMilliCpu, parseBytes, parseMilliCpu } from '../../api/quantity.js';
import { API_GROUP } from '../../brand.js';
import type { ResourceAmounts } from '../amounts.js';

const PLACE = `${API_GROUP}/place`;

/** `cpu=500m,memory=512Mi,disk=1Gi` */
export function placeAnnotations(amounts: ResourceAmounts): Readonly<Record<string, string>> {
  const { milliCpu, memory, disk } = amounts;
  return { [PLACE]: `cpu=${formatMilliCpu(milliCpu)},memory=${formatBytes(memory)},disk=${formatBytes(disk)}` };
}

/** What is missing or unreadable counts as nothing. */
export function readPlace(annotations: Readonly<Record<string, string>> | undefined): ResourceAmounts {
  const parts = new Map((annotations?.[PLACE] ?? '').split(',').map((part) => pair(part)));
  return {
    milliCpu: parseMilliCpu(parts.get('cpu') ?? '') ?? 0,
    memory: parseBytes(parts.get('memory') ?? '') ?? 0,
    disk: parseBytes(parts.get('disk') ?? '') ?? 0,
  };
}

function pair(part: string): [string, string] {
  const at = part.indexOf('=');
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
}

const PROOF = `${API_GROUP}/proof`;

/** The owner is told with `AttemptChanged` whose `gone` is true. */
export const proofWanted: Readonly<Record<string, string>> = { [PROOF]: 'wanted' };

export function wantsProof(annotations: Readonly<Record<string, string>> | undefined): boolean {
  return annotations?.[PROOF] === 'wanted';
}

const REPLACES = `${API_GROUP}/replaces`;

export const replacesLost: Readonly<Record<string, string>> = { [REPLACES]: 'lost' };

export function isReplacement(annotations: Readonly<Record<string, string>> | undefined): boolean {
  return annotations?.[REPLACES] === 'lost';
}
