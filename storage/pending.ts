/**
 * Reads what a crash leaves behind: effects and timers that are stored and not done, and objects with something under way.
 * These reads are for the whole store, at start and in sweeps (I6).
 */
import type { Address } from '../src/api/address.js';
import { FORMATS, upcast, type Formats } from './formats.js';
import type { Postgres, Statement } from './postgres.js';
import type { Pending, StoredEffects, StoredTimer } from './store.js';

/** How long done effects are collected before they are removed (ms): one statement for many. */
const FLUSH_AFTER = 25;
const FLUSH_AT = 512;
/** Pause after a failed removal (ms). */
const RETRY_AFTER = 1_000;
/** Done effects that wait to be removed, at most. Beyond it they stay stored, and the next start runs them again. */
const MOST_DONE = 100_000;

type EffectsRow = [number, string, string, string, string, string, number, string];

export interface PendingRows extends Pending {
  /** Removes what is waiting to be removed. */
  close(): Promise<void>;
}

export function openPending(postgres: Postgres, formats: Formats = FORMATS): PendingRows {
  let done: number[] = [];
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> | undefined;

  const toEffects = ([version, org, kind, project, name, uid, format, body]: EffectsRow): StoredEffects => ({
    version,
    address: { org, kind, project, name },
    uid,
    recalled: true,
    effects: upcast('effects', format, JSON.parse(body), formats),
  });

  // An effect that is done and not removed is run again after a crash, which is harmless: so no failure here is reported.
  async function flush(): Promise<void> {
    const versions = done;
    done = [];
    if (versions.length === 0) return;
    try {
      await postgres.write(REMOVE_EFFECTS, [versions]);
    } catch {
      done = versions.concat(done).slice(0, MOST_DONE);
      timer ??= setTimeout(start, RETRY_AFTER).unref();
    }
  }

  function start(): void {
    // Also when a removal is under way: a timer that has fired must not pass for one that will.
    clearTimeout(timer);
    timer = undefined;
    flushing ??= flush().finally(() => {
      flushing = undefined;
      if (done.length > 0) timer ??= setTimeout(start, FLUSH_AFTER).unref();
    });
  }

  return {
    async effects(afterVersion, limit, of) {
      const rows =
        of === undefined
          ? await postgres.readRows<EffectsRow>(EFFECTS, [afterVersion, limit])
          : await postgres.readRows<EffectsRow>(EFFECTS_OF, [afterVersion, limit, of.org, of.kinds, of.among]);
      return rows.map(toEffects);
    },

    async effectsOrgs(kinds) {
      const rows = await postgres.readRows<[string, boolean]>(EFFECTS_ORGS, [kinds]);
      return rows.map(([org, among]) => ({ org, among }));
    },

    effectsAt: async (versions) => (await postgres.readRows<EffectsRow>(EFFECTS_AT, [versions])).map(toEffects),

    effectsDone(version) {
      if (done.length >= MOST_DONE) return;
      done.push(version);
      if (done.length >= FLUSH_AT) start();
      else timer ??= setTimeout(start, FLUSH_AFTER).unref();
    },

    async timersDue(before, limit, from) {
      const rows = await postgres.readRows<[string, string, string, string, string, string, number, number, number]>(
        TIMERS,
        [before, limit, from ?? null],
      );
      return rows.map(([org, kind, project, name, uid, timer_, generation, at, format]): StoredTimer => {
        const row = { address: { org, kind, project, name }, uid, timer: timer_, generation, at };
        return upcast('timers', format, row, formats);
      });
    },

    async unfinished(kinds, limit, after) {
      const rows = await postgres.readRows<[string, string, string, string]>(
        after === undefined ? UNFINISHED : UNFINISHED_AFTER,
        after === undefined ? [kinds, limit] : [kinds, limit, after.kind, after.org, after.project, after.name],
      );
      return rows.map(([org, kind, project, name]): Address => ({ org, kind, project, name }));
    },

    async unfinishedOf(org, kinds, limit, after) {
      const rows = await postgres.readRows<[string, string, string]>(
        after === undefined ? UNFINISHED_OF : UNFINISHED_OF_AFTER,
        [kinds, limit, org, ...(after === undefined ? [] : [after.kind, after.project, after.name])],
      );
      return rows.map(([kind, project, name]): Address => ({ org, kind, project, name }));
    },

    async unfinishedHeld(kind, limit, after) {
      const rows = await postgres.readRows<[string, string, string]>(UNFINISHED_HELD, [
        ...[kind, limit, after?.org ?? '', after?.project ?? '', after?.name ?? ''],
      ]);
      return rows.map(([org, project, name]): Address => ({ org, kind, project, name }));
    },

    async countUnfinished(kind) {
      return new Map(await postgres.readRows<[string, number]>(COUNT_UNFINISHED, [kind]));
    },

    async unfinishedOrgs() {
      const rows = await postgres.readRows<[string]>(UNFINISHED_ORGS, []);
      return rows.map(([org]) => org);
    },

    async oldestEffectMs() {
      const [row] = await postgres.readRows<[number]>(OLDEST);
      return row?.[0] ?? 0;
    },

    async close() {
      await flushing;
      await flush();
      clearTimeout(timer);
    },
  };
}

const EFFECTS: Statement = {
  name: 'effects',
  text: `
SELECT version, org, kind, project, name, uid, format, body FROM effects
WHERE version > $1 ORDER BY version LIMIT $2`,
};

const EFFECTS_OF: Statement = {
  name: 'effects of an org',
  text: `
SELECT version, org, kind, project, name, uid, format, body FROM effects
WHERE version > $1 AND org = $3 AND (kind = ANY($4::text[])) = $5 ORDER BY version LIMIT $2`,
};

const EFFECTS_ORGS: Statement = {
  name: 'orgs with effects',
  text: 'SELECT DISTINCT org, kind = ANY($1::text[]) FROM effects',
};

const EFFECTS_AT: Statement = {
  name: 'effects at',
  text: `
SELECT version, org, kind, project, name, uid, format, body FROM effects
WHERE version = ANY($1::bigint[]) ORDER BY version`,
};

/** Precondition: these effects are done. Result: they are not run again. */
const REMOVE_EFFECTS: Statement = {
  name: 'remove effects',
  text: 'DELETE FROM effects WHERE version = ANY($1::bigint[])',
};

const TIMERS: Statement = {
  name: 'timers due',
  text: `
SELECT org, kind, project, name, uid, timer, generation, round(extract(epoch FROM due_at) * 1000)::float8, format
FROM timers
WHERE due_at < to_timestamp($1::float8 / 1000) AND ($3::float8 IS NULL OR due_at >= to_timestamp($3::float8 / 1000))
ORDER BY due_at, uid, timer LIMIT $2`,
};

const UNFINISHED: Statement = {
  name: 'unfinished',
  text: `
SELECT org, kind, project, name FROM objects WHERE active AND kind = ANY($1::text[])
ORDER BY kind, org, project, name LIMIT $2`,
};
const UNFINISHED_AFTER: Statement = {
  name: 'unfinished after',
  text: `
SELECT org, kind, project, name FROM objects
WHERE active AND kind = ANY($1::text[]) AND (kind, org, project, name) > ($3, $4, $5, $6)
ORDER BY kind, org, project, name LIMIT $2`,
};

const UNFINISHED_OF: Statement = {
  name: 'unfinished of an org',
  text: `
SELECT kind, project, name FROM objects WHERE active AND kind = ANY($1::text[]) AND org = $3
ORDER BY kind, project, name LIMIT $2`,
};
const UNFINISHED_OF_AFTER: Statement = {
  name: 'unfinished of an org after',
  text: `
SELECT kind, project, name FROM objects
WHERE active AND kind = ANY($1::text[]) AND org = $3 AND (kind, project, name) > ($4, $5, $6)
ORDER BY kind, project, name LIMIT $2`,
};

/** Bodies are text, no JSON of Postgres; what a client writes cannot hold an unescaped quote, and one too many is looked at in vain. */
const UNFINISHED_HELD: Statement = {
  name: 'unfinished held',
  text: `
SELECT org, project, name FROM objects
WHERE active AND kind = $1 AND (org, project, name) > ($3, $4, $5) AND position('"finalizers":[' IN body) > 0
ORDER BY org, project, name LIMIT $2`,
};

const COUNT_UNFINISHED: Statement = {
  name: 'count unfinished',
  text: 'SELECT org, count(*)::int FROM objects WHERE active AND kind = $1 GROUP BY org',
};

const UNFINISHED_ORGS: Statement = {
  name: 'unfinished orgs',
  text: 'SELECT DISTINCT org FROM objects WHERE active ORDER BY org',
};

const OLDEST: Statement = {
  name: 'oldest effect',
  text: `
SELECT (extract(epoch FROM clock_timestamp() - time) * 1000)::float8 FROM effects ORDER BY version LIMIT 1`,
};
