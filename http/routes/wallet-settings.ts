/**
 * Serves `PATCH /apis/{g}/v1/wallet`: when the org is warned, and when it buys credits by itself. The settings are the spec of the org's Wallet,
 * so a change of them is an update of that object: validated, idempotent by key, one writer at a time.
 */
import type { Caller } from '../../actors/resource-service.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import { refuse, RefusalError } from '../../src/api/refusal.js';
import { WALLET_ADDRESS } from '../../src/kinds/wallet/address.js';
import { walletKind } from '../../src/kinds/wallet/index.js';
import type { WalletSpec, WalletStatus } from '../../src/kinds/wallet/schema.js';
import { requireScope } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import { readWriteOptions } from '../resources/options.js';
import { mediaType, parseRecord, unknownFormat } from '../resources/parse.js';
import { sendWrite } from '../resources/write.js';
import type { ServerContext } from '../server-context.js';

const TYPES = ['application/merge-patch+json', 'application/json'];
const FIELDS = ['autoRecharge', 'warnBelowUSD'];

export async function patchWallet(x: Exchange, context: ServerContext, caller: Caller): Promise<void> {
  x.verb = 'patch';
  requireScope(caller, 'billing:write', '');
  if (!TYPES.includes(mediaType(x, ''))) throw unknownFormat(TYPES);
  const bytes = await context.bodies.read(x);
  const { value, duplicates } = parseRecord(bytes);
  const unknown = Object.keys(value).filter((name) => !FIELDS.includes(name));
  if (unknown.length > 0)
    throw refuse('Invalid', 'the settings of the wallet are invalid', {
      causes: unknown.slice(0, 20).map((field) => ({
        field: field.slice(0, 64),
        reason: 'FieldValueNotSupported',
        message: 'the wallet has no such setting',
      })),
      fix: `Send ${FIELDS.join(' or ')}.`,
    });
  if (context.payments.processor === undefined && isSwitchedOn(value['autoRecharge']))
    throw refuse(
      'PaymentsNotConfigured',
      'credits cannot be bought: this service takes no payments (TROUPE_PAYMENTS=off)',
    );
  if (isSwitchedOn(value['autoRecharge'])) await checkCard(context, caller);
  const options = { ...readWriteOptions(x, bytes), fieldValidation: 'Strict' } as const;
  const address = { org: caller.org, ...WALLET_ADDRESS };
  const patch = { type: 'merge', patch: { spec: value } } as const;
  await sendWrite(context, caller, walletKind, address, options, duplicates, { verb: 'patch', patch }).catch(
    unprefixed,
  );
}

/** A card that another processor keeps counts as none. */
async function checkCard(context: ServerContext, { org }: Caller): Promise<void> {
  const body = await context.resources.read({ org, ...WALLET_ADDRESS }, context.deadlines.current());
  const { status } = (body === undefined ? {} : decodeObject(body)) as { status?: WalletStatus };
  if (status?.card === undefined || status.card.processor === context.payments.processor) return;
  throw refuse('PaymentMethodRequired', 'the card that is saved is of another payment processor than the one of now', {
    fix: 'Pay a TopUp with spec.savePaymentMethod true, and let the card be kept on its page. Then change the wallet again.',
  });
}

function isSwitchedOn(autoRecharge: unknown): boolean {
  return (autoRecharge as { readonly enabled?: unknown } | null | undefined)?.enabled === true;
}

/** Fields are named as the body has them. */
function unprefixed(error: unknown): never {
  if (!(error instanceof RefusalError)) throw error;
  const { causes, message, ...rest } = error.refusal;
  throw new RefusalError({
    ...rest,
    message: message.replaceAll('spec.', ''),
    causes: causes?.map((cause) => ({ ...cause, field: cause.field.replace(/^spec\.?/, '') })),
  });
}

export interface WalletSettings {
  /** What `GET …/wallet` shows of them. */
  readonly shown: object;
  /** Weak: the amounts beside them change without it. `If-Match` of a PATCH takes it. */
  readonly etag: string | undefined;
}

export async function readSettings(
  context: ServerContext,
  { org }: Caller,
  signal: AbortSignal,
): Promise<WalletSettings> {
  const body = await context.resources.read({ org, ...WALLET_ADDRESS }, signal);
  const object = body === undefined ? undefined : (decodeObject(body) as ApiObject<WalletSpec, WalletStatus>);
  const { spec, status } = object ?? {};
  const { recharge, card: saved, disputes } = status ?? {};
  const card = saved?.processor === context.payments.processor ? saved : undefined;
  const shown = {
    autoRecharge: {
      enabled: false,
      ...spec?.autoRecharge,
      ...(recharge !== undefined && {
        status: {
          month: recharge.month,
          boughtUSD: recharge.usedUSD,
          ...(recharge.topUp !== undefined && { topUp: recharge.topUp }),
          ...(recharge.stopped !== undefined && { stopped: recharge.stopped }),
        },
      }),
    },
    ...(spec?.warnBelowUSD !== undefined && { warnBelowUSD: spec.warnBelowUSD }),
    ...(card !== undefined && { paymentMethod: { brand: card.brand, last4: card.last4 } }),
    ...(disputes !== undefined && { disputes }),
  };
  const version = object?.metadata.resourceVersion;
  return { shown, etag: version === undefined ? undefined : `W/"${version}"` };
}
