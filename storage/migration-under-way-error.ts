/** Another process migrates this database for longer than this one waits. It may end yet: trying again later is right. */
export class MigrationUnderWayError extends Error {
  constructor(seconds: number) {
    super(
      `another process has been migrating this database for more than ${seconds} s. Wait until it has ended; SELECT * FROM ` +
        `pg_stat_activity WHERE application_name = 'troupe migrations' shows what it does`,
    );
    this.name = 'MigrationUnderWayError';
  }
}
