/**
 * The columns of a kind as kubectl prints them: the kind's own, with Name in front and Age at the end when the kind
 * does not say otherwise, and how a row is made from an object. Source: Kubernetes, `meta.k8s.io/v1` Table.
 */
import type { ApiObject } from '../../src/api/object.js';
import { parseTime } from '../../src/api/time.js';
import type { Column, KindDefinition } from '../../src/kinds/kind.js';
import { age } from './age.js';

const NAME: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object, unique in its project.',
  cell: (object) => object.metadata.name,
};

const AGE: Column = {
  name: 'Age',
  type: 'date',
  description: 'Time since the object was created.',
  cell: (object) => object.metadata.creationTimestamp,
};

export function columnsOf(kind: KindDefinition): readonly Column[] {
  const has = (name: string): boolean => kind.columns.some((column) => column.name.toLowerCase() === name);
  return [...(has('name') ? [] : [NAME]), ...kind.columns, ...(has('age') ? [] : [AGE])];
}

/** JSON of `columnDefinitions`. Dates are sent as ready-made ages, so their type is string, as kube-apiserver does. */
export function columnDefinitions(columns: readonly Column[]): string {
  return JSON.stringify(
    columns.map(({ name, type, format = '', description, priority = 0 }) => ({
      name,
      type: type === 'date' ? 'string' : type,
      format: name === 'Name' ? 'name' : format,
      description,
      priority,
    })),
  );
}

function cell(column: Column, object: ApiObject, now: number): string | number | boolean | null {
  const value = column.cell(object);
  if (column.type !== 'date') return value;
  const time = typeof value === 'string' ? parseTime(value) : undefined;
  return time === undefined ? '<unknown>' : age(now - time);
}

export function cells(
  columns: readonly Column[],
  object: ApiObject,
  now: number,
): (string | number | boolean | null)[] {
  return columns.map((column) => cell(column, object, now));
}
