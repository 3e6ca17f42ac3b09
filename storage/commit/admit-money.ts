/**
 * The money of a batch: reads the accounts that it touches under the clock's lock, admits its commits one by one by the
 * pure rules of `src/money`, and writes what changed.
 *
 * I7: nothing else writes accounts, and the lock is held, so what was read is what is true until the commit.
 * Commits are taken in their order: limits first, then releases, postings, holds. A refused commit leaves no trace.
 */
import { admit, emptyAccount, limit, release, type Account, type Accounts } from '../../src/money/account.js';
import { post } from '../../src/money/post.js';
import type { Hold } from '../../src/money/posting.js';
import { USD } from '../../src/money/usd.js';
import type { QueuedCommit } from './queued-commit.js';
import type { CommitRequest, CommitResult } from './request.js';
import type { Session } from './session.js';

export interface Ledger {
  /** By position: why a commit is refused. */
  readonly refused: ReadonlyMap<number, CommitResult>;
  /** Writes what the admitted commits changed; `versions` by position. */
  write(session: Session, versions: readonly (number | undefined)[]): Promise<void>;
}

interface StoredHold extends Hold {
  readonly uid: string;
}

/** What is true of one org while its commits are considered. */
interface Book {
  accounts: Accounts;
  holds: ReadonlyMap<string, StoredHold>;
  posted: ReadonlySet<string>;
}

export function hasMoney(request: CommitRequest): boolean {
  return (
    request.holds.length > 0 ||
    request.releases.length > 0 ||
    request.postings.length > 0 ||
    (request.accounts !== undefined && request.accounts.length > 0)
  );
}

/** Precondition: the clock row is locked. Result: who is refused, and how to write the rest. Nothing is written yet. */
export async function admitMoney(session: Session, entries: readonly QueuedCommit[]): Promise<Ledger> {
  const books = await readBooks(session, entries);
  const before = new Map([...books].map(([org, book]) => [org, { ...book }]));
  const refused = new Map<number, CommitResult>();
  const postings: { org: string; position: number; posting: CommitRequest['postings'][number] }[] = [];

  entries.forEach(({ request }, position) => {
    if (!hasMoney(request)) return;
    const book = books.get(request.address.org) ?? emptyBook();
    const outcome = consider(book, request);
    if (outcome.outcome === 'HoldRefused') {
      refused.set(position, outcome);
      return;
    }
    for (const posting of request.postings)
      if (!book.posted.has(posting.key)) postings.push({ org: request.address.org, position, posting });
    books.set(request.address.org, outcome.book);
  });

  return {
    refused,
    async write(on, versions) {
      const accounts: unknown[] = [];
      const placed: unknown[] = [];
      const removed: unknown[] = [];
      for (const [org, book] of books) {
        const old = before.get(org) ?? emptyBook();
        for (const [name, account] of book.accounts)
          if (old.accounts.get(name) !== account) accounts.push(accountRow(org, account));
        for (const [key, hold] of book.holds)
          if (old.holds.get(key) !== hold)
            placed.push({ org, key, uid: hold.uid, amount: hold.amountUSD, accounts: hold.accounts });
        for (const key of old.holds.keys()) if (!book.holds.has(key)) removed.push({ org, key });
      }
      const posted = postings.map(({ org, position, posting }) => ({
        org,
        key: posting.key,
        reason: posting.reason,
        version: versions[position],
      }));
      const lines = postings.flatMap(({ org, posting }) =>
        posting.lines.map((line, i) => ({
          org,
          posting: posting.key,
          line: i,
          account: line.account,
          amount: line.amountUSD,
        })),
      );
      await Promise.all([
        accounts.length > 0 && on.rows('write accounts', () => WRITE_ACCOUNTS, [JSON.stringify(accounts)]),
        removed.length > 0 && on.rows('remove holds', () => REMOVE_HOLDS, [JSON.stringify(removed)]),
        placed.length > 0 && on.rows('place holds', () => PLACE_HOLDS, [JSON.stringify(placed)]),
        posted.length > 0 && on.rows('write postings', () => WRITE_POSTINGS, [JSON.stringify(posted)]),
        lines.length > 0 && on.rows('write lines', () => WRITE_LINES, [JSON.stringify(lines)]),
      ]);
    },
  };
}

type Consideration =
  | { readonly outcome: 'Considered'; readonly book: Book }
  | Extract<CommitResult, { outcome: 'HoldRefused' }>;

/** Pure: the book after this commit, or why it is refused. A hold under a key that is held replaces the earlier one. */
function consider(book: Book, request: CommitRequest): Consideration {
  let accounts = book.accounts;
  const holds = new Map(book.holds);
  const posted = new Set(book.posted);
  for (const setting of request.accounts ?? []) accounts = limit(accounts, setting);
  for (const key of request.releases) {
    const hold = holds.get(key);
    if (hold === undefined) continue;
    accounts = release(accounts, hold);
    holds.delete(key);
  }
  for (const posting of request.postings) {
    // A key that was used is not posted again (I7).
    if (posted.has(posting.key)) continue;
    accounts = post(accounts, posting);
    posted.add(posting.key);
  }
  for (const hold of request.holds) {
    const earlier = holds.get(hold.key);
    if (earlier !== undefined) accounts = release(accounts, earlier);
    const admission = admit(accounts, hold);
    if (admission.outcome === 'Refused')
      return { outcome: 'HoldRefused', by: admission.by, availableUSD: admission.availableUSD };
    accounts = admission.accounts;
    holds.set(hold.key, { ...hold, uid: request.uid });
  }
  return { outcome: 'Considered', book: { accounts, holds, posted } };
}

function emptyBook(): Book {
  return { accounts: new Map(), holds: new Map(), posted: new Set() };
}

async function readBooks(session: Session, entries: readonly QueuedCommit[]): Promise<Map<string, Book>> {
  const holdKeys: unknown[] = [];
  const postingKeys: unknown[] = [];
  const names = new Map<string, { org: string; account: string }>();
  const name = (org: string, account: string) => names.set(JSON.stringify([org, account]), { org, account });
  for (const { request } of entries) {
    const { org } = request.address;
    for (const key of request.releases) holdKeys.push({ org, key });
    for (const hold of request.holds) {
      holdKeys.push({ org, key: hold.key });
      for (const account of hold.accounts) name(org, account);
    }
    for (const posting of request.postings) {
      postingKeys.push({ org, key: posting.key });
      for (const line of posting.lines) name(org, line.account);
    }
    for (const setting of request.accounts ?? []) name(org, setting.account);
  }

  const books = new Map<
    string,
    { accounts: Map<string, Account>; holds: Map<string, StoredHold>; posted: Set<string> }
  >();
  const book = (org: string) => {
    const known = books.get(org) ?? { accounts: new Map(), holds: new Map(), posted: new Set() };
    books.set(org, known);
    return known;
  };
  if (holdKeys.length > 0) {
    const rows = await session.rows<[string, string, string, string, string[]]>('read holds', () => READ_HOLDS, [
      JSON.stringify(holdKeys),
    ]);
    for (const [org, key, uid, amountUSD, accounts] of rows) {
      book(org).holds.set(key, { key, uid, amountUSD, accounts });
      for (const account of accounts) name(org, account);
    }
  }
  if (postingKeys.length > 0) {
    const rows = await session.rows<[string, string]>('read postings', () => READ_POSTINGS, [
      JSON.stringify(postingKeys),
    ]);
    for (const [org, key] of rows) book(org).posted.add(key);
  }
  const rows = await session.rows<[string, string, 'Block' | 'Observe', string | null, string, string]>(
    'read accounts',
    () => READ_ACCOUNTS,
    [JSON.stringify([...names.values()])],
  );
  for (const [org, account, policy, limitUSD, spent, held] of rows)
    book(org).accounts.set(account, {
      ...emptyAccount(account),
      policy,
      limitUSD: limitUSD === null ? undefined : new USD(limitUSD),
      spentUSD: new USD(spent),
      heldUSD: new USD(held),
    });
  return books;
}

function accountRow(org: string, account: Account): unknown {
  return {
    org,
    account: account.account,
    policy: account.policy,
    limit: account.limitUSD?.toFixed() ?? null,
    spent: account.spentUSD.toFixed(),
    held: account.heldUSD.toFixed(),
  };
}

const READ_HOLDS = `
SELECT h.org, h.key, h.uid, h.amount_usd, h.accounts FROM holds h
JOIN (SELECT DISTINCT org, key FROM json_to_recordset($1::json) AS g(org text, key text)) g ON (h.org, h.key) = (g.org, g.key)`;

const READ_POSTINGS = `
SELECT p.org, p.key FROM postings p
JOIN (SELECT DISTINCT org, key FROM json_to_recordset($1::json) AS g(org text, key text)) g ON (p.org, p.key) = (g.org, g.key)`;

const READ_ACCOUNTS = `
SELECT a.org, a.account, a.policy, a.limit_usd, a.spent_usd, a.held_usd FROM accounts a
JOIN json_to_recordset($1::json) AS g(org text, account text) ON (a.org, a.account) = (g.org, g.account)`;

const WRITE_ACCOUNTS = `
INSERT INTO accounts (org, account, policy, limit_usd, spent_usd, held_usd)
SELECT org, account, policy, "limit", spent, held
FROM json_to_recordset($1::json)
  AS g(org text, account text, policy text, "limit" numeric, spent numeric, held numeric)
ON CONFLICT (org, account) DO UPDATE
SET policy = excluded.policy, limit_usd = excluded.limit_usd, spent_usd = excluded.spent_usd, held_usd = excluded.held_usd`;

const REMOVE_HOLDS = `
DELETE FROM holds h USING json_to_recordset($1::json) AS g(org text, key text) WHERE (h.org, h.key) = (g.org, g.key)`;

const PLACE_HOLDS = `
INSERT INTO holds (org, key, uid, amount_usd, accounts)
SELECT org, key, uid, amount, ARRAY(SELECT json_array_elements_text(accounts))
FROM json_to_recordset($1::json) AS g(org text, key text, uid text, amount numeric, accounts json)
ON CONFLICT (org, key) DO UPDATE
SET uid = excluded.uid, amount_usd = excluded.amount_usd, accounts = excluded.accounts`;

const WRITE_POSTINGS = `
INSERT INTO postings (org, key, reason, version)
SELECT org, key, reason, version
FROM json_to_recordset($1::json) AS g(org text, key text, reason text, version bigint)`;

const WRITE_LINES = `
INSERT INTO lines (org, posting, line, account, amount_usd)
SELECT org, posting, line, account, amount
FROM json_to_recordset($1::json) AS g(org text, posting text, line int, account text, amount numeric)`;
