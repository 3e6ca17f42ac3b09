/**
 * How a purchase is written into Stripe's objects and read back. The deployment stands beside it, so that two deployments on one account
 * ignore each other's events, and amounts are whole cents. Pure.
 */
import type { Purchase } from '../../../kinds/topup/payment.js';

export const CURRENCY = 'usd';
/** In the metadata of a refund: the key under which it was asked for. */
export const KEY = 'key';

/** Who an object of Stripe belongs to, by its metadata. */
export type Owner =
  | { readonly type: 'Ours'; readonly purchase: Purchase }
  | { readonly type: 'Foreign' }
  /** It says nothing: neither refunds made by hand nor disputes do. */
  | { readonly type: 'Unmarked' };

export function metadataOf({ org, name, uid }: Purchase, deployment: string): Record<string, string> {
  return { deployment, org, name, uid };
}

export function ownerOf(metadata: unknown, deployment: string): Owner {
  const said = (metadata ?? {}) as Readonly<Record<string, unknown>>;
  if (said['deployment'] === undefined) return { type: 'Unmarked' };
  const { org, name, uid } = said;
  if (said['deployment'] !== deployment || !isText(org) || !isText(name) || !isText(uid)) return { type: 'Foreign' };
  return { type: 'Ours', purchase: { org, name, uid } };
}

/** Whether the metadata name this very purchase. */
export function isOf(metadata: unknown, { org, name, uid }: Purchase, deployment: string): boolean {
  const owner = ownerOf(metadata, deployment);
  if (owner.type !== 'Ours') return false;
  const { purchase } = owner;
  return purchase.org === org && purchase.name === name && purchase.uid === uid;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** `12.50` is 1250. Throws for what is no amount of whole cents, a fault of the caller. */
export function centsOf(amountUSD: string): number {
  const [, whole, part = ''] = /^(\d{1,9})(?:\.(\d{1,2}))?$/.exec(amountUSD) ?? [];
  if (whole === undefined) throw new RangeError(`"${amountUSD}" is no amount of whole cents`);
  return Number(whole) * 100 + Number(part.padEnd(2, '0'));
}

/** 1250 is `12.50`. */
export function usdOf(cents: number): string {
  const text = String(Math.max(0, Math.trunc(cents))).padStart(3, '0');
  return `${text.slice(0, -2)}.${text.slice(-2)}`;
}
