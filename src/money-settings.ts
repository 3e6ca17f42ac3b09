/** The settings that say what things cost, who pays, and who hears of it; a part of the table in `settings.ts`. */
import {
  mailAddress,
  integer,
  origin,
  path,
  paymentMode,
  smtpServer,
  stripeKey,
  usd,
  walletMode,
  webhookSecrets,
} from './config-values.js';
import { secret, setting, type Setting } from './setting.js';

export const MONEY_SETTINGS = {
  priceBook: setting(
    'TROUPE_PRICEBOOK',
    'path',
    undefined,
    path.optional(),
    "File of the price book: what capacity, storage, image builds and models cost. Unset: the program's own (`ops/catalog/pricebook.yaml`). Read at the start and again on SIGHUP; other prices need another `pricebookVersion`. What is admitted keeps its price.",
  ),
  wallet: setting(
    'TROUPE_WALLET',
    'Unlimited, Prepaid',
    undefined,
    walletMode.optional(),
    'Unlimited: every cost is recorded and Budgets bind, but the wallet refuses nothing and owes nothing. Prepaid: what work holds has to be in the wallet of its org; what is refused is 402, and running work ends gracefully. An org buys credits with a TopUp, and has those that it was given (`TROUPE_BOOTSTRAP_CREDITS`, promo codes). Unset: Prepaid when `STRIPE_SECRET_KEY` is set, else Unlimited. It may be changed at any start: what was used as Unlimited is never owed. Work that runs then keeps what it held before, up to an hour of it, unpaid; until it is used, the wallet shows it as held and gives it to nobody: suspend that work to have the wallet free at once.',
  ),
  bootstrapCredits: setting(
    'TROUPE_BOOTSTRAP_CREDITS',
    'USD',
    '100.00',
    usd,
    'Credits that the first org is given, once, at the first start; 0 gives none. What is given stays when this changes.',
  ),
  payments: setting(
    'TROUPE_PAYMENTS',
    'auto, off',
    'auto',
    paymentMode,
    'Who takes the money of TopUps. auto: Stripe when `STRIPE_SECRET_KEY` is set, else the embedded test processor, with a checkout page at which no money moves: anybody who may create TopUps then gets credits for nothing, which matters only with `TROUPE_WALLET=Prepaid`. off: TopUps are 501 PaymentsNotConfigured.',
  ),
  stripeSecretKey: secret(
    setting(
      'STRIPE_SECRET_KEY',
      'key',
      undefined,
      stripeKey.optional(),
      'Secret or restricted key of a Stripe account, `sk_live_…`, `rk_live_…`, or with `test`. TopUps are then paid at Stripe Checkout, and `TROUPE_WALLET` is Prepaid unless it says otherwise. A restricted key needs: Checkout Sessions, PaymentIntents and Refunds (write), Charges, Disputes, Invoices, Balance Transactions and Events (read).',
    ),
  ),
  stripeWebhookSecrets: secret(
    setting(
      'STRIPE_WEBHOOK_SECRET',
      'secret',
      undefined,
      webhookSecrets.optional(),
      'Signing secret (`whsec_…`) of a webhook endpoint in Stripe that sends to `/payments/stripe` of this service; two with a comma while it is changed. Unset: webhooks are refused, and payments are found by looking at Stripe each half minute and when the browser comes back.',
    ),
  ),
  stripeUrl: setting(
    'TROUPE_STRIPE_URL',
    'URL',
    'https://api.stripe.com',
    origin('https', 'http'),
    'Where the API of Stripe is. Another one is for tests; plain HTTP only on this machine.',
  ),
  unfundedGraceSeconds: setting(
    'TROUPE_UNFUNDED_GRACE',
    'seconds',
    '900',
    integer(1, 604_800),
    'How long work under a Budget that blocks, a cap or a prepaid wallet goes on after the time that it holds money for, while the service or its database is away and nobody renews its hold. Then its engine stops it gracefully by itself, and a service that comes back begins it anew if there is money. That time is charged to nobody, since no limit may be passed: longer costs the operator more, shorter ends work in shorter outages. Other work goes on without end.',
  ),
  ledgerAuditSeconds: setting(
    'TROUPE_LEDGER_AUDIT_SECONDS',
    'seconds',
    '3600',
    integer(60, 604_800),
    'Pause between two audits of the ledger, which rebuild what is stored of money from its postings and say what differs (`/ops/v1/ledger`, `/readyz`, the log). Shorter finds a fault sooner, and reads the whole ledger more often over one connection.',
  ),
  smtpUrl: secret(
    setting(
      'TROUPE_SMTP_URL',
      'URL',
      undefined,
      smtpServer.optional(),
      'The mail server for notices of Budgets: `smtps://user:password@mail.example.com` (port 465), or `smtp://user:password@mail.example.com` (587, with STARTTLS), percent-encoded. Without TLS only with `?tls=off`, and then a password only to this machine. Authorities of its certificate beside the usual ones: NODE_EXTRA_CA_CERTS. Unset: notices are events only, and Budgets that name recipients say so; those of that time are not mailed later.',
    ),
  ),
  smtpFrom: setting(
    'TROUPE_SMTP_FROM',
    'address',
    undefined,
    mailAddress.optional(),
    'Sender of these mails, which the mail server must accept, such as budgets@example.com. Set it together with TROUPE_SMTP_URL.',
  ),
} satisfies Readonly<Record<string, Setting<unknown>>>;
