/**
 * Who may use a tool in a browser: links that open one once, and the visits that come of them, known by a cookie.
 *
 * A link's value nobody can guess; it is kept by its hash, in the memory of the active process, since it is good once: a restart of the
 * service ends links. A visit's value says all that it means, sealed with a key of this deployment and bound to its place; so visits
 * outlast restarts and take no room here.
 *
 * Both hold what the link was made for (one tool of one Workspace at one epoch, I8) and the hash of the credential that made it:
 * a visit may never do more than that one may at the moment.
 * I10: MOST links; beyond it the one that was made longest ago goes.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Address } from '../../src/api/address.js';
import { sha256 } from '../../src/api/sha256.js';
import type { BrowserTool } from '../../src/kinds/workspace/browser-tools.js';

export interface BrowserSession {
  readonly owner: Address;
  /** Of the Workspace. */
  readonly uid: string;
  readonly epoch: number;
  readonly tool: BrowserTool;
  /** Name of the program that is the tool in this image. */
  readonly program: string;
  /** SHA-256 of the API key or token by which the link was made. */
  readonly credential: string;
}

export interface BrowserSessions {
  /** A link's value, good once until LINK_SECONDS have passed. */
  invite(session: BrowserSession): string;
  /** Takes a link's value at this place; answers the visit's. Undefined: it is no such link, or it was used. */
  begin(link: string, place: string): string | undefined;
  find(value: string, place: string): BrowserSession | undefined;
}

export interface BrowserSessionsOptions {
  /** The one that a visit is for: a value means nothing at any other. */
  placeOf(session: BrowserSession): string;
  /** KEY_BYTES, the same after a restart. */
  readonly key: Uint8Array;
  randomBytes(length: number): Uint8Array;
  /** ms since the epoch. */
  clock(): number;
}

export const KEY_BYTES = 32;
export const LINK_SECONDS = 300;
/** A working day; also the life of the cookie. */
export const SESSION_SECONDS = 12 * 3_600;
/** About 0.5 kB each. */
const MOST = 10_000;
const VALUE_BYTES = 32;
/** What a link's value looks like: anything else is not worth hashing. */
const VALUE = /^[A-Za-z0-9_-]{43}$/;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Longer than any that we make. */
const LONGEST = 3_000;

const sealed = z.object({
  owner: z.object({ org: z.string(), kind: z.string(), project: z.string(), name: z.string() }),
  uid: z.string(),
  epoch: z.int(),
  tool: z.enum(['jupyter', 'vscode']),
  program: z.string(),
  credential: z.string(),
  /** ms since the epoch. */
  until: z.number(),
});

export function openBrowserSessions({ placeOf, key, randomBytes, clock }: BrowserSessionsOptions): BrowserSessions {
  const links = new LRUCache<string, BrowserSession>({ max: MOST, ttl: LINK_SECONDS * 1_000 });

  function seal(session: BrowserSession, place: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(place));
    const text = JSON.stringify({ ...session, until: clock() + SESSION_SECONDS * 1_000 } satisfies z.input<
      typeof sealed
    >);
    const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), bytes]).toString('base64url');
  }

  function open(value: string, place: string): BrowserSession | undefined {
    if (value.length > LONGEST) return undefined;
    const bytes = Buffer.from(value, 'base64url');
    if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined;
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
      const { until, ...visit } = sealed.parse(JSON.parse(text.toString('utf8')));
      return until > clock() ? visit : undefined;
    } catch {
      // Not ours, or of a version that meant something else by it.
      return undefined;
    }
  }

  return {
    invite(session) {
      const value = Buffer.from(randomBytes(VALUE_BYTES)).toString('base64url');
      links.set(sha256(value), session);
      return value;
    },
    begin(link, place) {
      if (!VALUE.test(link)) return undefined;
      const hash = sha256(link);
      const session = links.get(hash);
      if (session === undefined || placeOf(session) !== place) return undefined;
      links.delete(hash);
      return seal(session, place);
    },
    find: open,
  };
}
