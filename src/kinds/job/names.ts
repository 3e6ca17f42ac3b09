/**
 * Owns the names and labels of a Job's Attempts. A name is a function of the Job's incarnation, the index and the epoch,
 * so that making an Attempt twice makes one, and a Job that is made again under its old name never meets the old Attempts.
 */
import { createHash } from 'node:crypto';
import { API_GROUP } from '../../brand.js';
import { MAX_LABEL } from '../../api/names.js';
import type { ObjectMeta } from '../../api/object.js';

export const JOB_LABEL = `${API_GROUP}/job`;
export const INDEX_LABEL = `${API_GROUP}/index`;
export const EPOCH_LABEL = `${API_GROUP}/epoch`;

/** `<job>-<index>-<epoch>-<six digits of the uid's hash>`; a long Job name is cut, so that the whole is a DNS label. */
export function attemptName(job: Pick<ObjectMeta, 'name' | 'uid'>, index: number, epoch: number): string {
  const tail = `-${index}-${epoch}-${shortHash(`${job.uid}/${job.name}`)}`;
  return `${cut(job.name, MAX_LABEL - tail.length)}${tail}`;
}

/** The Job's name as a label value: names may be longer than label values, so a long one is cut and marked. */
export function jobLabel(name: string): string {
  return name.length <= MAX_LABEL ? name : `${cut(name, MAX_LABEL - 7)}-${shortHash(name)}`;
}

export function attemptLabels(job: string, index: number, epoch: number): Readonly<Record<string, string>> {
  return { [JOB_LABEL]: jobLabel(job), [INDEX_LABEL]: String(index), [EPOCH_LABEL]: String(epoch) };
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 6);
}

/** At most so many characters, not ending where a name may not end. Dots become dashes: the whole is one label. */
function cut(name: string, length: number): string {
  return name.slice(0, length).replaceAll('.', '-').replace(/-+$/, '');
}
