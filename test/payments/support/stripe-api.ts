/** The requests that the local Stripe server answers, with the checks of Stripe's that the service relies on. A refused one throws `ApiError`. */
import type { Account, Intent, Session } from './stripe-account.js';
import { itemsOf, nodeOf, textOf, textsOf, type FormNode } from './stripe-form.js';
import { decline, newIntent, newRefund, succeed } from './stripe-payer.js';

export class ApiError extends Error {
  readonly status: number;
  readonly fields: Readonly<Record<string, unknown>>;
  constructor(status: number, fields: Readonly<Record<string, unknown>>) {
    super(String(fields['message']));
    this.status = status;
    this.fields = fields;
  }
}

const LEAST_CENTS = 50;
const LEAST_S = 30 * 60;
const MOST_S = 24 * 3_600;

/** What a new page may say; Stripe refuses any other name. */
const SESSION_FIELDS = new Set([
  ...['mode', 'line_items', 'client_reference_id', 'metadata', 'payment_intent_data', 'customer_creation'],
  ...['invoice_creation', 'expires_at', 'success_url', 'cancel_url', 'expand'],
]);
const INTENT_FIELDS = new Set([
  ...[
    'amount',
    'currency',
    'customer',
    'payment_method',
    'off_session',
    'confirm',
    'description',
    'metadata',
    'expand',
  ],
]);
const REFUND_FIELDS = new Set(['payment_intent', 'amount', 'metadata', 'expand']);

export interface ApiRequest {
  readonly method: string;
  /** Without `/v1`. */
  readonly path: string;
  readonly params: FormNode;
}

/** The body of the answer. */
export function answer(account: Account, { method, path, params }: ApiRequest): object {
  const [, collection = '', id, action] = /^\/(checkout\/sessions|\w+)(?:\/(\w+))?(?:\/(\w+))?$/.exec(path) ?? [];
  const isPost = method === 'POST';
  const expand = itemsOf(nodeOf(params, 'expand'));
  switch (collection) {
    case 'checkout/sessions': {
      if (id === undefined && isPost) return createSession(account, params);
      const session = find(account.sessions, id, 'checkout.session');
      if (action === 'expire') return expireSession(account, session);
      return expandSession(account, session, expand);
    }
    case 'payment_intents': {
      if (id === undefined) return isPost ? createIntent(account, params) : page([...account.intents.values()], params);
      const intent = find(account.intents, id, 'payment_intent');
      if (action === 'cancel') return cancelIntent(account, intent);
      return expandIntent(account, intent, expand);
    }
    case 'refunds':
      return isPost ? createRefund(account, params) : page([...account.refunds.values()], params);
    case 'disputes':
      return page([...account.disputes.values()], params);
    case 'events':
      return listEvents(account, params);
    case 'customers':
      return find(account.customers, id, 'customer');
    default:
      throw new ApiError(404, {
        type: 'invalid_request_error',
        message: `Unrecognized request URL (${method}: ${path}).`,
      });
  }
}

function find<T>(map: ReadonlyMap<string, T>, id: string | undefined, object: string): T {
  const found = map.get(id ?? '');
  if (found !== undefined) return found;
  const message = `No such ${object}: '${id}'`;
  throw new ApiError(404, { type: 'invalid_request_error', code: 'resource_missing', param: 'id', message });
}

function invalid(param: string, message: string, code = 'parameter_invalid'): ApiError {
  return new ApiError(400, { type: 'invalid_request_error', code, param, message });
}

function knownOnly(params: FormNode, known: ReadonlySet<string>): void {
  for (const name of Object.keys(params))
    if (!known.has(name)) throw invalid(name, `Received unknown parameter: ${name}`, 'parameter_unknown');
}

function cents(node: FormNode | undefined, name: string): number {
  const text = textOf(node, name);
  if (text === undefined || !/^\d{1,8}$/.test(text)) throw invalid(name, `Invalid integer: ${text}`);
  if (Number(text) < LEAST_CENTS) throw invalid(name, 'The amount must be at least $0.50 usd', 'amount_too_small');
  return Number(text);
}

function createSession(account: Account, params: FormNode): Session {
  knownOnly(params, SESSION_FIELDS);
  if (textOf(params, 'mode') !== 'payment') throw invalid('mode', 'this server knows the mode payment only');
  const item = nodeOf(nodeOf(params, 'line_items'), '0');
  const price = nodeOf(item, 'price_data');
  if (textOf(price, 'currency') !== 'usd' || textOf(nodeOf(price, 'product_data'), 'name') === undefined)
    throw invalid('line_items', 'a price in usd and the name of a product are needed');
  const total = cents(price, 'unit_amount') * Number(textOf(item, 'quantity'));
  const expires = Number(textOf(params, 'expires_at') ?? account.now() + MOST_S);
  const ahead = expires - account.now();
  if (ahead < LEAST_S)
    throw invalid(
      'expires_at',
      'The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation.',
    );
  if (ahead > MOST_S)
    throw invalid(
      'expires_at',
      'The `expires_at` timestamp must be less than 24 hours from Checkout Session creation.',
    );
  for (const name of ['success_url', 'cancel_url'])
    if (!/^https?:\/\//.test(textOf(params, name) ?? '')) throw invalid(name, 'Not a valid URL', 'url_invalid');
  const intentData = nodeOf(params, 'payment_intent_data');
  const save = textOf(intentData, 'setup_future_usage') === 'off_session';
  if (save && textOf(params, 'customer_creation') !== 'always')
    throw invalid('customer_creation', 'this server saves cards of customers only');
  const id = account.id(account.livemode ? 'cs_live' : 'cs_test');
  const session: Session = {
    ...{ id, object: 'checkout.session', created: account.now(), livemode: account.livemode, mode: 'payment' },
    ...{ url: `https://checkout.stripe.example.com/c/pay/${id}`, status: 'open', payment_status: 'unpaid' },
    ...{ amount_total: total, currency: 'usd', client_reference_id: textOf(params, 'client_reference_id') },
    ...{ metadata: textsOf(nodeOf(params, 'metadata')), expires_at: expires },
    ...{ payment_intent: null, customer: null, invoice: null },
  };
  account.sessions.set(id, session);
  account.asked.set(id, { metadata: textsOf(nodeOf(intentData, 'metadata')), save });
  return session;
}

function expireSession(account: Account, session: Session): Session {
  if (session.status !== 'open') throw invalid('id', 'Only Checkout Sessions with a status of `open` can be expired.');
  session.status = 'expired';
  account.emit('checkout.session.expired', session);
  return session;
}

function createIntent(account: Account, params: FormNode): Intent {
  knownOnly(params, INTENT_FIELDS);
  const amount = cents(params, 'amount');
  if (textOf(params, 'off_session') !== 'true' || textOf(params, 'confirm') !== 'true')
    throw invalid('off_session', 'this server confirms charges of absent holders only');
  const customer = textOf(params, 'customer');
  const method = find(account.methods, textOf(params, 'payment_method'), 'PaymentMethod');
  if (method.customer === null || method.customer !== customer)
    throw invalid('payment_method', 'The PaymentMethod does not belong to this Customer.');
  const intent = newIntent(account, amount, textsOf(nodeOf(params, 'metadata')));
  intent.customer = customer;
  intent.payment_method = method.id;
  switch (method.away) {
    case 'Pays':
      succeed(account, intent);
      break;
    case 'Processes':
      intent.status = 'processing';
      break;
    case 'WantsHolder':
      intent.status = 'requires_action';
      break;
    case 'Declines':
      decline(account, intent);
      throw new ApiError(402, {
        ...{ type: 'card_error', code: 'card_declined', decline_code: 'generic_decline', param: '' },
        ...{ message: 'Your card was declined.', payment_intent: intent },
      });
  }
  return intent;
}

function cancelIntent(account: Account, intent: Intent): Intent {
  if (intent.status === 'succeeded' || intent.status === 'canceled')
    throw invalid('id', 'You cannot cancel this PaymentIntent', 'payment_intent_unexpected_state');
  intent.status = 'canceled';
  account.emit('payment_intent.canceled', intent);
  return intent;
}

function createRefund(account: Account, params: FormNode): object {
  knownOnly(params, REFUND_FIELDS);
  const intent = find(account.intents, textOf(params, 'payment_intent'), 'payment_intent');
  const charge = account.charges.get(intent.latest_charge ?? '');
  if (intent.status !== 'succeeded' || charge === undefined)
    throw invalid('payment_intent', `This PaymentIntent (${intent.id}) does not have a successful charge to refund.`);
  const left = charge.amount - charge.amount_refunded;
  const amount = Number(textOf(params, 'amount') ?? left);
  if (left === 0) throw invalid('charge', `Charge ${charge.id} has already been refunded.`, 'charge_already_refunded');
  if (amount > left) throw invalid('amount', 'Refund amount is greater than unrefunded amount on charge');
  return newRefund(account, intent, amount, textsOf(nodeOf(params, 'metadata')));
}

function expandSession(account: Account, session: Session, expand: readonly string[]): object {
  const intent = account.intents.get(session.payment_intent ?? '');
  const inner = expand.flatMap((name) => (name.startsWith('payment_intent.') ? [name.slice(15)] : []));
  const isWhole = intent !== undefined && (inner.length > 0 || expand.includes('payment_intent'));
  return {
    ...session,
    ...(isWhole ? { payment_intent: expandIntent(account, intent, inner) } : {}),
    ...(expand.includes('invoice') ? { invoice: account.invoices.get(session.invoice ?? '') ?? null } : {}),
  };
}

function expandIntent(account: Account, intent: Intent, expand: readonly string[]): object {
  const charge = account.charges.get(intent.latest_charge ?? '');
  return expand.includes('latest_charge') ? { ...intent, latest_charge: charge ?? null } : intent;
}

function listEvents(account: Account, params: FormNode): object {
  const types = itemsOf(nodeOf(params, 'types'));
  if (types.length > 20) throw invalid('types', 'at most 20 types');
  const shown = account.events.filter(
    ({ id, type }) => !account.late.has(id) && (types.length === 0 || types.includes(type)),
  );
  return page(shown, params);
}

interface Listed {
  readonly id: string;
  readonly created?: number;
  readonly payment_intent?: unknown;
  readonly customer?: unknown;
}

/** `items`: oldest first; pages begin with the newest. */
function page(items: readonly Listed[], params: FormNode): object {
  const intent = textOf(params, 'payment_intent');
  const customer = textOf(params, 'customer');
  const limit = Number(textOf(params, 'limit') ?? 10);
  if (!(limit >= 1 && limit <= 100)) throw invalid('limit', 'must be between 1 and 100');
  const from = Number(textOf(nodeOf(params, 'created'), 'gte') ?? 0);
  const newest = items
    .filter((item) => intent === undefined || item.payment_intent === intent)
    .filter((item) => customer === undefined || item.customer === customer)
    .filter(({ created = from }) => created >= from)
    .toReversed();
  const after = textOf(params, 'starting_after');
  const start = after === undefined ? 0 : newest.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0)
    throw invalid('starting_after', `No such object: '${after}'`, 'resource_missing');
  return {
    object: 'list',
    url: '/v1',
    data: newest.slice(start, start + limit),
    has_more: newest.length > start + limit,
  };
}
