/**
 * What one transaction uses: a connection, and statements prepared by name, of which several may be under way at once.
 * Also the text of multi-row VALUES, which carry bodies cheaper than arrays do.
 */
import type { Client, QueryArrayResult } from 'pg';
import { socketOf } from '../error-safe-client.js';

/** Statements are carried out in the order in which they were asked for; none waits for the answer to the one before. */
export interface Session {
  /** One prepared statement; rows as arrays. */
  rows<Row extends unknown[]>(name: string, text: () => string, values: unknown[]): Promise<Row[]>;
  /** Several plain statements at once, no values from outside; one result each. */
  script(text: string): Promise<QueryArrayResult<unknown[]>[]>;
  /** What `ask` asks for goes out in one piece. */
  together<T>(ask: () => T): T;
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
    together(ask) {
      // pg writes each statement by itself; corks add up, so that ours holds until all are there.
      const stream = socketOf(client);
      stream.cork();
      try {
        return ask();
      } finally {
        stream.uncork();
      }
    },
  };
}

/**
 * Rows of a VALUES list, rounded up: each size is a statement of its own, and 64 of them per table and connection would
 * cost Postgres 60 MB. What is too much is filled with nulls, and every statement leaves those rows out by `i`.
 */
const SIZES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

export function roundUp(rows: number): number {
  return SIZES.find((size) => size >= rows) ?? Math.ceil(rows / 64) * 64;
}

/** Nulls for the rows that `roundUp` has added. */
export function fill(values: unknown[], rows: number, columns: number): void {
  for (let missing = (roundUp(rows) - rows) * columns; missing > 0; missing--) values.push(null);
}

/**
 * `(VALUES (0,$2::text,$3::text),(1,$4,$5)) AS g(i,name,body)`, from parameter `from` on. `columns` is name → type;
 * Postgres takes the types from the first row.
 */
export function givenRows(rows: number, columns: Readonly<Record<string, string>>, from: number): string {
  const names = Object.keys(columns);
  const types = Object.values(columns);
  const list: string[] = [];
  for (let i = 0; i < rows; i++) {
    const first = from + i * types.length;
    list.push(`(${i},${types.map((type, column) => `$${first + column}${i === 0 ? `::${type}` : ''}`).join(',')})`);
  }
  return `(VALUES ${list.join(',')}) AS g(i,${names.join(',')})`;
}
