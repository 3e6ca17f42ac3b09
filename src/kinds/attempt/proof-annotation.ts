/**
 * Owns the annotation by which the owner of an Attempt asks to be told, beside of its end, of the proof that nothing of its
 * work is left. An owner that may run its work in one place only waits for it; a Job of many indexes is spared the letters.
 */
import { API_GROUP } from '../../brand.js';

const PROOF = `${API_GROUP}/proof`;

/** The owner is told with `AttemptChanged` whose `gone` is true. */
export const toldOfProof: Readonly<Record<string, string>> = { [PROOF]: 'wanted' };

export function wantsProof(annotations: Readonly<Record<string, string>> | undefined): boolean {
  return annotations?.[PROOF] === 'wanted';
}
