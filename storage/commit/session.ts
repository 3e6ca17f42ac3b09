/**
 * Owns what one transaction may use: a connection, one statement at a time, statements prepared by name.
 * Also the text of multi-row VALUES, which carry bodies cheaper than arrays do.
 */
import type { Client, QueryArrayResult } from 'pg';

export interface Session {
  /** One prepared statement; rows as arrays. */
  rows<Row extends unknown[]>(name: string, text: () => string, values: unknown[]): Promise<Row[]>;
  /** Several plain statements at once, no values from outside; one result each. */
  script(text: string): Promise<QueryArrayResult<unknown[]>[]>;
}

export function sessionOn(client: Client): Session {
  const texts = new Map<string, string>();
  return {
    async rows<Row extends unknown[]>(name: string, text: () => string, values: unknown[]) {
      let known = texts.get(name);
      if (known === undefined) {
        known = text();
        texts.set(name, known);
      }
      const result = await client.query<Row>({ name, text: known, values, rowMode: 'array' });
      return result.rows;
    },
    async script(text) {
      // pg answers an array of results for several statements, one result for one.
      const results = await client.query<unknown[]>({ text, rowMode: 'array' });
      return [results].flat();
    },
  };
}

/**
 * `($2::text,$3),($4,$5)`: the rows of a VALUES list whose first parameter is `from`. `row` writes one row; the types
 * are named in the first one only, as Postgres takes them from there.
 */
export function valuesList(
  rows: number,
  columns: number,
  from: number,
  row: (parameter: (column: number) => string, index: number) => string,
): string {
  const list: string[] = [];
  for (let i = 0; i < rows; i++) list.push(`(${row((column) => `$${from + i * columns + column}`, i)})`);
  return list.join(',');
}
