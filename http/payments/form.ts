/** What a form of the checkout page asks for. */
import type { DeskAction } from '../../src/engines/payments/test/desk.js';
import type { Exchange } from '../exchange.js';

/** By the value of the button. */
export const BUTTONS = {
  pay: 'Pay',
  decline: 'Decline',
  bank: 'PayByBank',
  'bank-pays': 'BankPays',
  'bank-refuses': 'BankRefuses',
  abandon: 'Abandon',
  dispute: 'Dispute',
  win: 'WinDispute',
  lose: 'LoseDispute',
} as const satisfies Readonly<Record<string, DeskAction['action']>>;

/** Bytes. */
export const MOST_FORM = 4_096;

/** Undefined: it is none of the page's buttons. */
export function readAction(body: Buffer): DeskAction | undefined {
  const form = new URLSearchParams(body.toString('utf8'));
  const name = form.get('action') ?? '';
  if (!Object.hasOwn(BUTTONS, name)) return undefined;
  const action = BUTTONS[name as keyof typeof BUTTONS];
  return action === 'Pay' ? { action, saveCard: form.get('save') === 'on' } : { action };
}

export function isForm(x: Exchange): boolean {
  const type = x.header('content-type') ?? '';
  return type.split(';', 1)[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded';
}

/**
 * Whether a page of another site has sent it. The page's own forms come with `Origin: null`, since the browser sends their address to nobody, and with
 * `Sec-Fetch-Site: same-origin` where browsers send that (TLS and loopback). The host alone is compared: a proxy may have ended TLS.
 */
export function isForeign(x: Exchange, publicUrl: string | undefined): boolean {
  const site = x.header('sec-fetch-site');
  if (site === 'cross-site' || site === 'same-site') return true;
  const origin = x.header('origin');
  if (origin === undefined || origin === 'null') return false;
  if (!URL.canParse(origin)) return true;
  const { host } = new URL(origin);
  const own = publicUrl !== undefined && URL.canParse(publicUrl) ? new URL(publicUrl).host : undefined;
  return host !== own && host !== x.header('host')?.toLowerCase();
}
