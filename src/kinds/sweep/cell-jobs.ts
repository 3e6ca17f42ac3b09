/** The Jobs of a Sweep's cells: their names, labels, parameters and specs. Pure. */
import { API_GROUP } from '../../brand.js';
import type { ApiObject } from '../../api/object.js';
import { ownerLabel } from '../attempts/names.js';
import type { ChildSet } from '../children/draft.js';
import { childName } from '../children/names.js';
import { paramAnnotations } from '../job/from-parent.js';
import { cellsOf } from './cells.js';
import type { SweepSpec } from './schema.js';

const SWEEP_LABEL = `${API_GROUP}/sweep`;
const CELL_LABEL = `${API_GROUP}/cell`;

export function cellSet({ metadata, spec }: ApiObject<SweepSpec>): ChildSet {
  const cells = cellsOf(spec);
  const name = (index: number): string => cellJobName(metadata, index);
  return {
    kind: 'Job',
    total: cells.total,
    name,
    label: (index) => `cell ${index}`,
    indexOf(job) {
      const digits = /-(\d{1,5})-[0-9a-f]{6}$/.exec(job)?.[1];
      const index = Number(digits ?? -1);
      return index >= 0 && index < cells.total && name(index) === job ? index : undefined;
    },
    plan: (index) => ({
      labels: { [SWEEP_LABEL]: ownerLabel(metadata.name), [CELL_LABEL]: String(index) },
      annotations: paramAnnotations(cells.at(index).params),
      spec: spec.template.spec,
    }),
  };
}

export function cellJobName(metadata: ApiObject['metadata'], index: number): string {
  return childName(metadata, String(index), index);
}
