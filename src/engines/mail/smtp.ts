/**
 * Sends mail through the operator's SMTP server, over a connection of its own for each: mails are few, and a kept connection that died
 * would make the fate of a mail unknown. A server that offers no TLS gets nothing unless `tls=off` says so. The password is in no outcome
 * (I11), not even when the server repeats it.
 */
import type { NodemailerError } from 'nodemailer';
import { isMailAddress, MOST_MESSAGE, SEND_WITHIN_MS, type Mail, type MailEngine, type MailOutcome } from './engine.js';
import type { SmtpServer } from './smtp-server.js';

/** The mail as a whole has a bound of its own. */
const SILENT_MS = 20_000;
const MOST_REPLY_BYTES = 16 * 1024;
/** The sender, as people see it. */
const SENDER = 'Troupe';

export interface SmtpOptions {
  readonly server: SmtpServer;
  /** An address. */
  readonly from: string;
  /** Longest wait for the server, each (ms): for its name, the connection, its greeting, and each reply. */
  readonly silentMs?: number | undefined;
}

/** The client is loaded here, so that a service without mail never reads it. */
export async function openSmtp({ server, from, silentMs = SILENT_MS }: SmtpOptions): Promise<MailEngine> {
  const { default: nodemailer } = await import('nodemailer');
  const { host, port, tls, login } = server;
  const transport = nodemailer.createTransport(
    {
      ...{ host, port, secure: tls === 'Immediate', requireTLS: tls === 'StartTls', ignoreTLS: tls === 'Off' },
      ...(login === undefined ? {} : { auth: { user: login.user, pass: login.password } }),
      ...{ dnsTimeout: silentMs, connectionTimeout: silentMs, greetingTimeout: silentMs, socketTimeout: silentMs },
      ...{ maxResponseSize: MOST_REPLY_BYTES, socketCloseTimeout: 0, logger: false },
    },
    { disableFileAccess: true, disableUrlAccess: true },
  );
  const domain = from.slice(from.lastIndexOf('@') + 1);

  async function send({ id, to, subject, text }: Mail): Promise<MailOutcome> {
    if (!isMailAddress(to)) return { outcome: 'Refused', message: 'it is not a mail address' };
    try {
      await transport.sendMail({
        from: { name: SENDER, address: from },
        // As an object: text is never taken apart into more addresses.
        to: { name: '', address: to },
        ...{ subject: oneLine(subject), text, messageId: `<${id}@${domain}>` },
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.timeout(SEND_WITHIN_MS),
      });
      return { outcome: 'Sent' };
    } catch (error) {
      return outcomeOf(error, login?.password);
    }
  }

  return { send };
}

/** A wrong password or sender is answered with 5xx too, but says nothing about the mail: it is tried again, since the operator may mend it. */
function outcomeOf(error: unknown, password: string | undefined): MailOutcome {
  const { command, permanent, response, message = 'failed' } = error as Partial<NodemailerError>;
  const aboutMail = command === 'RCPT TO' || command === 'DATA';
  const said = withoutSecret(response ?? message, password);
  return {
    outcome: permanent === true && aboutMail ? 'Refused' : 'Retry',
    message: oneLine(said).slice(0, MOST_MESSAGE),
  };
}

function withoutSecret(text: string, password: string | undefined): string {
  if (password === undefined) return text;
  const encoded = Buffer.from(password).toString('base64');
  return text.replaceAll(password, '***').replaceAll(encoded, '***');
}

function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').trim();
}
