/** What the template of a Job may not say, in a Sweep, in a stage and in the defaults of stages. Pure. */
import type { z } from 'zod';
import { addIssue } from '../shapes/rules.js';
import { contradictsAlias } from './parts.js';
import type { JobParts } from './schema.js';

/**
 * A Job that deletes itself would take its results from the Sweep or Pipeline that counts on them, and the state of its Jobs is the
 * owner's. What the Job itself would refuse at its create is refused here, to the client that writes the template.
 */
export function checkTemplate(
  part: JobParts,
  at: readonly (string | number)[],
  issues: z.core.ParsePayload['issues'],
): void {
  const refuse = (field: string, why: string): void =>
    addIssue(issues, [...at, field], `must not be set in a template: ${why}`, 'FieldValueForbidden');
  const { ttlSecondsAfterFinished, state } = part;
  if (ttlSecondsAfterFinished !== undefined) refuse('ttlSecondsAfterFinished', 'its Jobs are deleted with their owner');
  if (state !== undefined && state !== 'Running') refuse('state', "its Jobs take their owner's state");
  if (contradictsAlias(part))
    addIssue(issues, [...at, 'activeDeadlineSeconds'], 'is an alias of timeout and must not differ from it');
}
