/**
 * Names of the Jobs that a Sweep or a Pipeline makes. A name is a function of the owner's incarnation and the child's place in it, so that
 * making a child twice makes one, and an owner that is made again under its old name never meets the old children.
 */
import { cutName, shortHash } from '../attempts/names.js';
import { MAX_LABEL } from '../../api/names.js';
import type { ObjectMeta } from '../../api/object.js';

/** `<owner>-<part>-<six digits of a hash>`, at most 63 characters; a long name of the owner is cut, then a long part. */
export function childName(owner: Pick<ObjectMeta, 'name' | 'uid'>, part: string, index: number): string {
  const tail = `-${shortHash(`${owner.uid}/${index}`)}`;
  const room = MAX_LABEL - tail.length;
  const shownPart = cutName(part, Math.min(part.length, LONGEST_PART));
  return `${cutName(owner.name, room - shownPart.length - 1)}-${shownPart}${tail}`;
}

const LONGEST_PART = 32;
