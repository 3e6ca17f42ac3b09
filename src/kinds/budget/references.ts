/** Owns what a Budget names and must exist: its project, since a limit on a misspelt one would bind nothing. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import type { BudgetSpec } from './schema.js';

export function budgetReferences({ spec }: ApiObject<BudgetSpec>): readonly Reference[] {
  const name = spec.scope?.project;
  return name === undefined ? [] : [{ field: 'spec.scope.project', kind: 'Namespace', project: '', name }];
}
