/** Refuses a database that a newer program has written: this one would read rows that it does not understand. */
export class DatabaseNewerError extends Error {
  /** What of the database is too new, and what this program knows. */
  constructor(its: string, ours: string) {
    super(
      `the database has ${its}, this program knows ${ours}: start a program at least as new as the one that wrote it`,
    );
    this.name = 'DatabaseNewerError';
  }
}
