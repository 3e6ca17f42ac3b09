/**
 * Names and labels of Attempts. A name is a function of the owner's incarnation, the index and the epoch, so that making an Attempt twice
 * makes one, and an owner that is made again under its old name never meets the old Attempts.
 */
import { createHash } from 'node:crypto';
import { API_GROUP } from '../../brand.js';
import { MAX_LABEL } from '../../api/names.js';
import type { ObjectMeta } from '../../api/object.js';

export const EPOCH_LABEL = `${API_GROUP}/epoch`;

/** Which Attempt of an owner: its slot (the index of a Job; always 0 where there is one Attempt at a time), and its fence number. */
export interface AttemptRef {
  readonly index: number;
  readonly epoch: number;
}

/** Of an owner that has one Attempt at a time. */
export function soleAttempt(epoch: number): AttemptRef {
  return { index: 0, epoch };
}

type Named = Pick<ObjectMeta, 'name' | 'uid'>;

/** `<owner>-<index>-<epoch>-<six digits of the uid's hash>`; a long name of the owner is cut, so that the whole is a DNS label. */
export function attemptName(owner: Named, index: number, epoch: number): string {
  const tail = `-${index}-${epoch}-${shortHash(`${owner.uid}/${owner.name}`)}`;
  return `${cutName(owner.name, MAX_LABEL - tail.length)}${tail}`;
}

const TAIL = /-(\d+)-(\d+)-[0-9a-f]{6}$/;

/** From the name of one of this owner's Attempts; undefined for any other name. */
export function readAttemptName(owner: Named, name: string): AttemptRef | undefined {
  const parts = TAIL.exec(name);
  if (parts === null) return undefined;
  const [index, epoch] = [Number(parts[1]), Number(parts[2])];
  return attemptName(owner, index, epoch) === name ? { index, epoch } : undefined;
}

/** The owner's name as a label value: names may be longer than label values, so a long one is cut and marked. */
export function ownerLabel(name: string): string {
  return name.length <= MAX_LABEL ? name : `${cutName(name, MAX_LABEL - 7)}-${shortHash(name)}`;
}

/** Six hexadecimal digits. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 6);
}

/** At most so many characters, not ending where a name may not end. Dots become dashes: the whole is one label. */
export function cutName(name: string, length: number): string {
  return name.slice(0, length).replaceAll('.', '-').replace(/-+$/, '');
}
