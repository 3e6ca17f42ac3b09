/**
 * Makes certificates: a CA of our own, and server certificates signed by it. Pure apart from the keys it
 * makes; `certificate.ts` keeps them. The library and the polyfill that it needs are loaded only when something is
 * made, which is once a year.
 */
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

export interface KeyedCertificate {
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS#8. */
  readonly key: string;
}

const DAY_MS = 86_400_000;
const CA_DAYS = 3650;
/** Clients refuse server certificates that are valid for longer than 398 days. */
const SERVER_DAYS = 397;
/** Clocks of clients may be behind. */
const SKEW_MS = 3_600_000;

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

const library = async (): Promise<typeof import('@peculiar/x509')> => {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  return x509;
};

const generateKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

const pem = (label: string, der: ArrayBuffer): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(der)
    .toString('base64')
    .replace(/(.{64})(?=.)/g, '$1\n')}\n-----END ${label}-----\n`;

const unpem = (text: string): Buffer => Buffer.from(text.replace(/-----[^-]+-----|\s/g, ''), 'base64');

const keyPem = async (keys: webcrypto.CryptoKeyPair): Promise<string> =>
  pem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));

/** 16 random bytes, positive. */
const serial = (): string => {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16));
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return Buffer.from(bytes).toString('hex');
};

/** A self-signed CA that may sign servers and nothing below them. */
export const makeAuthority = async (now: Date): Promise<KeyedCertificate> => {
  const x509 = await library();
  const keys = await generateKeys();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: 'CN=Troupe local CA',
    notBefore: new Date(now.getTime() - SKEW_MS),
    notAfter: new Date(now.getTime() + CA_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${cert.toString('pem')}\n`, key: await keyPem(keys) };
};

/** A server's certificate for these names and addresses, signed by the CA. */
export const makeServer = async (
  authority: KeyedCertificate,
  names: readonly string[],
  now: Date,
): Promise<KeyedCertificate> => {
  const x509 = await library();
  const issuer = new x509.X509Certificate(authority.cert);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', unpem(authority.key), ALGORITHM, false, ['sign']);
  const keys = await generateKeys();
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: 'CN=Troupe',
    issuer: issuer.subject,
    notBefore: new Date(now.getTime() - SKEW_MS),
    notAfter: new Date(Math.min(now.getTime() + SERVER_DAYS * DAY_MS, issuer.notAfter.getTime())),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((name) => ({ type: isIP(name) === 0 ? ('dns' as const) : ('ip' as const), value: name })),
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return { cert: `${cert.toString('pem')}\n`, key: await keyPem(keys) };
};
