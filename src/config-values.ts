/**
 * How the values of settings are written in the environment, one schema per form. Messages say what would fit;
 * the name of the setting is put in front by `src/settings.ts`.
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import { formatUsd, LARGEST_USD, parseUsd } from './api/usd.js';
import { allowAddresses } from './engines/dialer/special-addresses.js';
import { isMailAddress } from './engines/mail/engine.js';
import { parseSmtpUrl, type SmtpServer } from './engines/mail/smtp-server.js';

export const integer = (least: number, most: number): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${least} to ${most}`)
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be a whole number from ${least} to ${most}`);

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

export const bytes = (least: number): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^\d{1,15}(k|M|G|T|Ki|Mi|Gi|Ti)?$/, 'must be a number of bytes such as 4Gi, 512Mi or 1000000')
    .transform((text) => Number.parseInt(text, 10) * (UNITS[text.replace(/^\d+/, '')] ?? 1))
    .refine((value) => value >= least && Number.isSafeInteger(value), `must be at least ${least} bytes`);

export const milliCpu: z.ZodType<number, string> = z
  .string()
  .regex(/^(\d{1,6}m|\d{1,4}(\.\d{1,3})?)$/, 'must be a number of CPUs such as 2, 1.5 or 500m')
  .transform((text) => (text.endsWith('m') ? Number.parseInt(text, 10) : Math.round(Number(text) * 1000)))
  .refine((value) => value > 0, 'must be more than 0');

/** As amounts are shown: `100.00`. */
export const usd: z.ZodType<string, string> = z
  .string()
  .refine(
    (text) => parseUsd(text)?.isNegative() === false,
    `must be an amount in USD such as 100.00, from 0 to ${LARGEST_USD} with at most 9 decimals`,
  )
  .transform((text) => formatUsd(text));

export const walletMode: z.ZodType<'Unlimited' | 'Prepaid', string> = z.enum(['Unlimited', 'Prepaid']);

/** Who takes the money of TopUps. */
export const paymentMode: z.ZodType<'auto' | 'off', string> = z.enum(['auto', 'off']);

export const stripeKey = z
  .string()
  .regex(/^(sk|rk)_(live|test)_\w{8,248}$/, 'must be a secret or restricted key of Stripe');

/** One, or two while it is changed. */
export const webhookSecrets = z.string().transform((text, context): readonly string[] => {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length <= 2 && parts.every((part) => /^whsec_[\w+/=-]{8,248}$/.test(part))) return parts;
  context.addIssue('must be one or two secrets that begin with whsec_, with a comma between them');
  return z.NEVER;
});

export const path: z.ZodType<string, string> = z
  .string()
  .refine((text) => !text.includes('\0'), 'must be a path')
  .transform((text) => resolve(text));

export const url = (...schemes: string[]): z.ZodType<string, string> =>
  z
    .string()
    .refine(
      (text) => schemes.some((scheme) => text.startsWith(`${scheme}://`)) && URL.canParse(text),
      `must be a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    );

/** Scheme, host and port, and nothing behind them. */
export const origin = (...schemes: string[]): z.ZodType<string, string> =>
  z
    .string()
    .refine(
      (text) =>
        schemes.some((scheme) => text.startsWith(`${scheme}://`)) && URL.canParse(text) && isBare(new URL(text)),
      `must be a URL of ${schemes.join(' or ')} without a path, such as https://troupe.example.com`,
    )
    .transform((text) => new URL(text).origin);

const isBare = ({ username, password, pathname, search, hash }: URL): boolean =>
  `${username}${password}${pathname}${search}${hash}` === '/';

export const dnsName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/, 'must be a DNS name such as svc.dev');

/** A uid and a dot in front of it have to fit into a name. */
export const toolDomain = z.literal('localhost').or(dnsName.max(253 - 37));

const ENGINES = ['auto', 'namespaces', 'docker', 'off'] as const;
/** Engines that the plan names and that this version does not have. */
const LATER_ENGINES = ['kubernetes', 'node'];

export const compute = z.string().transform((text, context): (typeof ENGINES)[number] => {
  const known = ENGINES.find((engine) => engine === text);
  if (known !== undefined) return known;
  context.addIssue(
    LATER_ENGINES.includes(text)
      ? `${text} is not built yet; use auto, namespaces, docker or off`
      : 'must be auto, namespaces, docker or off',
  );
  return z.NEVER;
});

/** `name=reference, name=reference`: what stands for images of the catalog. */
export const images = z.string().transform((text, context): Readonly<Record<string, string>> => {
  const pairs = text.split(',').map((pair): [string, string] => {
    const at = pair.indexOf('=');
    return [pair.slice(0, Math.max(0, at)).trim(), pair.slice(at + 1).trim()];
  });
  if (pairs.every(([name, reference]) => name !== '' && reference !== '')) return Object.fromEntries(pairs);
  context.addIssue('must be pairs of a name and an image, such as svc/agent-tools=debian:12');
  return z.NEVER;
});

/** An AES-256 key: 32 bytes. */
const MASTER_KEY = /^[A-Za-z0-9+/]{43}=$/;
/** The current one and those of earlier rotations; more would be a mistake. */
const MOST_MASTER_KEYS = 8;

export const masterKeys = z.string().transform((text, context): readonly Buffer[] => {
  const parts = text.split(',').map((part) => part.trim());
  const good = parts.length <= MOST_MASTER_KEYS && parts.every((part) => MASTER_KEY.test(part));
  if (good) return parts.map((part) => Buffer.from(part, 'base64'));
  context.addIssue(`must be 32 bytes in base64 (44 characters), or at most ${MOST_MASTER_KEYS} such keys with commas`);
  return z.NEVER;
});

/** Port to listen on; 0 any free one; `off` none. */
export const listenerPort = (what: string): z.ZodType<number | 'off', string> =>
  z.string().transform((text, context): number | 'off' => {
    if (text === '0') return 'off';
    if (text === 'any') return 0;
    const port = integer(1, 65535).safeParse(text);
    if (port.success) return port.data;
    context.addIssue(`must be a port, 0 (no ${what}) or any (any free port)`);
    return z.NEVER;
  });

/** `host` or `host:port`, commas between them. */
export const registries = z.string().transform((text, context): readonly string[] => {
  const parts = text.split(',').map((part) => part.trim().toLowerCase());
  const wrong = parts.find((part) => !/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?(:\d{1,5})?$/.test(part));
  if (wrong === undefined) return parts;
  context.addIssue(`${JSON.stringify(wrong.slice(0, 80))} is no host such as registry.example.com:5000`);
  return z.NEVER;
});

/** `10.1.0.0/16`, `::1`; what a range may be is `special-addresses.ts`'s. */
export const ranges = z.string().transform((text, context): readonly string[] => {
  const parts = text.split(',').map((part) => part.trim());
  try {
    allowAddresses(parts);
    return parts;
  } catch (error) {
    context.addIssue(error instanceof Error ? error.message : 'must be addresses or ranges');
    return z.NEVER;
  }
});

export const smtpServer = z.string().transform((text, context): SmtpServer => {
  const parsed = parseSmtpUrl(text);
  if (!('fault' in parsed)) return parsed;
  context.addIssue(parsed.fault);
  return z.NEVER;
});

export const mailAddress = z.string().refine(isMailAddress, 'must be an address such as budgets@example.com');
