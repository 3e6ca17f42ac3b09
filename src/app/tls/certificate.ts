/**
 * The certificate that the service shows: the operator's own, or one from a CA that lives in the data directory
 * (`<data>/tls`: `ca.crt`, `ca.key`, `server.crt`, `server.key`; all 0600). It is made at the first start, and again
 * when a third of its time is left, when it lacks a name, or when its CA was replaced.
 */
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writePrivate } from '../private-file.js';
import { makeAuthority, makeServer } from './make-certificates.js';
import type { KeyedCertificate } from './make-certificates.js';

export interface ServerCertificate extends KeyedCertificate {
  /** What a client must trust (PEM); undefined for an operator's own certificate: clients know its CA. */
  readonly ca: string | undefined;
}

export interface CertificateOptions {
  readonly dataDir: string;
  /** Addresses and names under which it is reached; added to localhost, 127.0.0.1 and ::1. */
  readonly hosts: readonly string[];
  /** Every name one below it is added. */
  readonly below?: string | undefined;
  /** The operator's own, as paths of PEM files: both or neither. */
  readonly own?: { readonly cert: string; readonly key: string } | undefined;
}

/** Addresses that mean every interface, and so name no server. */
const ANY = new Set(['0.0.0.0', '::', '*']);

const RENEW_SHARE = 1 / 3;
const CHECK_MS = 6 * 3_600_000;

export const openCertificate = async (options: CertificateOptions, now: Date): Promise<ServerCertificate> => {
  if (options.own !== undefined) {
    const [cert, key] = await Promise.all([readFile(options.own.cert, 'utf8'), readFile(options.own.key, 'utf8')]);
    if (!matches({ cert, key })) throw new Error(`${options.own.key} is not the private key of ${options.own.cert}`);
    return { cert, key, ca: undefined };
  }
  const home = join(options.dataDir, 'tls');
  const authority = await kept(
    home,
    'ca',
    (found) => validAt(found, now),
    () => makeAuthority(now),
  );
  const { hosts, below } = options;
  const wild = below === undefined ? [] : [`*.${below}`];
  const names = [...new Set(['localhost', '127.0.0.1', '::1', ...hosts.filter((host) => !ANY.has(host)), ...wild])];
  const server = await kept(
    home,
    'server',
    (found) => serves(found, authority, names, now),
    () => makeServer(authority, names, now),
  );
  return { ...server, ca: authority.cert };
};

/** Looks a few times a day whether the certificate has to be another one, and hands it over; ends with the signal. */
export const renewCertificate = async (
  options: CertificateOptions,
  current: ServerCertificate,
  onNew: (certificate: ServerCertificate) => void,
  onError: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> => {
  let shown = current;
  while (!signal.aborted) {
    await delay(CHECK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const found = await openCertificate(options, new Date());
      if (found.cert !== shown.cert) onNew(found);
      shown = found;
    } catch (error) {
      onError(error); // The one that is shown goes on; the next look tries again.
    }
  }
};

/** The pair of files of that name while it is fit, else a new one in its place. */
const kept = async (
  home: string,
  name: string,
  fit: (found: KeyedCertificate) => boolean,
  make: () => Promise<KeyedCertificate>,
): Promise<KeyedCertificate> => {
  const files = { cert: join(home, `${name}.crt`), key: join(home, `${name}.key`) };
  const [cert, key] = await Promise.all(
    [files.cert, files.key].map((file) => readFile(file, 'utf8').catch(() => undefined)),
  );
  if (cert !== undefined && key !== undefined && matches({ cert, key }) && fit({ cert, key })) return { cert, key };
  const made = await make();
  // Two writes: a crash, or another start, between them leaves a pair that does not match and is made again.
  await writePrivate(files.key, made.key);
  await writePrivate(files.cert, made.cert);
  return made;
};

const matches = ({ cert, key }: KeyedCertificate): boolean => {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
};

const validAt = ({ cert }: KeyedCertificate, now: Date): boolean => {
  const { validFrom, validTo } = new X509Certificate(cert);
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  return from <= now.getTime() && now.getTime() < to - (to - from) * RENEW_SHARE;
};

const serves = (
  server: KeyedCertificate,
  authority: KeyedCertificate,
  names: readonly string[],
  now: Date,
): boolean => {
  const certificate = new X509Certificate(server.cert);
  return (
    validAt(server, now) &&
    certificate.verify(new X509Certificate(authority.cert).publicKey) &&
    names.every((name) => covers(certificate, name))
  );
};

const covers = (certificate: X509Certificate, name: string): boolean => {
  // No client asks for a wildcard, so there is no check of one.
  if (name.startsWith('*.')) return certificate.subjectAltName?.split(', ').includes(`DNS:${name}`) === true;
  return (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined;
};
