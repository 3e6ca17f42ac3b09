/** Reads the authorities that may have signed certificates of webhook receivers: at the start, so that a bad file stops it. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** `TROUPE_WEBHOOK_CA` cannot be used; the message is for the operator. */
export class WebhookCaFault extends Error {
  constructor(file: string, why: string) {
    super(`TROUPE_WEBHOOK_CA: ${file} ${why}`);
    this.name = 'WebhookCaFault';
  }
}

const MISSING =
  'does not exist. Name a file that does; an authority that this service makes for itself (TROUPE_TLS_PORT) is there ' +
  'after its first start: start it once without TROUPE_WEBHOOK_CA.';

/** PEM certificates; undefined when the setting is unset. */
export async function readWebhookCa(file: string | undefined): Promise<readonly string[] | undefined> {
  if (file === undefined) return undefined;
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new WebhookCaFault(file, MISSING);
    throw new WebhookCaFault(file, `cannot be read (${error instanceof Error ? error.message : 'unknown'})`);
  });
  const certificates = text.match(PEM) ?? [];
  if (certificates.length === 0) throw new WebhookCaFault(file, 'holds no certificate (PEM)');
  if (!certificates.every(isCertificate)) throw new WebhookCaFault(file, 'holds a certificate that cannot be parsed');
  return certificates;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
