/**
 * What the spec of a Job may not have where it is the template of a Sweep or of a Pipeline's stage. Source: decisions,
 * "Kinds not detailed". Pure.
 */
import type { z } from 'zod';
import { addIssue } from '../shapes/rules.js';
import type { JobParts } from './schema.js';

/** A Job that deletes itself would take its results from the Sweep or Pipeline that counts on them. */
export function refuseTtl(
  template: Pick<JobParts, 'ttlSecondsAfterFinished'>,
  at: readonly (string | number)[],
  issues: z.core.ParsePayload['issues'],
): void {
  if (template.ttlSecondsAfterFinished === undefined) return;
  const path = [...at, 'ttlSecondsAfterFinished'];
  addIssue(issues, path, 'must not be set in a template: its Jobs are deleted with their owner', 'FieldValueForbidden');
}
