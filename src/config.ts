/**
 * Reads the settings (`settings.ts`) from the environment. `src/brand.ts` alone reads `TROUPE_API_GROUP` earlier, as a constant; its form is
 * checked here. Nothing else in the service looks into the environment.
 *
 * A name that starts with `TROUPE_` and is not in the table, or a value that does not fit, stops the start with one
 * line each. Values of settings marked `secret` are never repeated in a line (I11).
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import type { WalletMode } from './money/limits.js';
import type { Setting } from './setting.js';
import { SETTINGS } from './settings.js';

export type Config = Omit<
  { readonly [K in keyof typeof SETTINGS]: z.output<(typeof SETTINGS)[K]['schema']> },
  'wallet'
> & {
  readonly runnerDir: string;
  readonly blobDir: string;
  readonly wallet: WalletMode;
};

/** Settings whose default depends on others. */
type Computed = 'runnerDir' | 'blobDir' | 'wallet';

export type LoadedConfig =
  | { readonly outcome: 'Config'; readonly config: Config }
  | { readonly outcome: 'Invalid'; readonly lines: string[] };

const byEnv: ReadonlyMap<string, Setting<unknown>> = new Map(
  Object.values<Setting<unknown>>(SETTINGS).map((entry) => [entry.env, entry]),
);

const schema = z.object(
  Object.fromEntries(Object.entries<Setting<unknown>>(SETTINGS).map(([key, entry]) => [key, entry.schema])),
);

/** Reads all settings; a name set to nothing counts as unset. Every fault is reported, one line each. */
export const loadConfig = (env: Readonly<Record<string, string | undefined>>): LoadedConfig => {
  const lines = Object.keys(env)
    .filter((name) => name.startsWith('TROUPE_') && !byEnv.has(name))
    .toSorted()
    .map((name) => `${name}: no setting has this name${nearest(name)}`);

  const given = Object.fromEntries(
    Object.entries<Setting<unknown>>(SETTINGS).map(([key, entry]) => [key, env[entry.env] || entry.default]),
  );
  const parsed = schema.safeParse(given);
  for (const issue of parsed.error?.issues ?? []) {
    const entry = (SETTINGS as Readonly<Record<string, Setting<unknown>>>)[String(issue.path[0])];
    if (entry === undefined) continue;
    const shown = entry.secret ? '' : ` (it is ${JSON.stringify(given[String(issue.path[0])])})`;
    lines.push(`${entry.env}: ${issue.message}${shown}`);
  }
  if (Boolean(env['TROUPE_TLS_CERT']) !== Boolean(env['TROUPE_TLS_KEY'])) {
    lines.push('TROUPE_TLS_CERT and TROUPE_TLS_KEY: set both or neither');
  }
  if (Boolean(env['TROUPE_SMTP_URL']) !== Boolean(env['TROUPE_SMTP_FROM'])) {
    lines.push('TROUPE_SMTP_URL and TROUPE_SMTP_FROM: set both or neither');
  }
  if (env['TROUPE_STRIPE_URL']?.startsWith('http://') && !isLoopback(env['TROUPE_STRIPE_URL'])) {
    lines.push('TROUPE_STRIPE_URL: must be https, since the key is sent there; http is for this machine only');
  }
  if (!parsed.success || lines.length > 0) return { outcome: 'Invalid', lines };

  // The schema was built from the table that the type is built from.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const config = parsed.data as unknown as Omit<Config, Computed> & Partial<Config>;
  return {
    outcome: 'Config',
    config: {
      ...config,
      runnerDir: config.runnerDir ?? resolve(config.dataDir, 'runner'),
      blobDir: config.blobDir ?? resolve(config.dataDir, 'blobs'),
      // Only real money implies that it is paid in advance.
      wallet:
        config.wallet ?? (config.stripeSecretKey !== undefined && config.payments !== 'off' ? 'Prepaid' : 'Unlimited'),
    },
  };
};

/** `; did you mean X?` for a name that differs from a known one by little, else nothing. */
const nearest = (name: string): string => {
  const words = new Set(name.split('_'));
  const known = [...byEnv.keys()].filter((env) => env.startsWith('TROUPE_'));
  const shared = (env: string): number => env.split('_').filter((word) => words.has(word)).length;
  const best = known.toSorted((a, b) => shared(b) - shared(a))[0];
  return best !== undefined && shared(best) > 1 ? `; did you mean ${best}?` : '';
};

const isLoopback = (url: string): boolean => /^http:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/.test(url);
