/** The mail server of this deployment, as the settings name it. */
import type { Config } from '../config.js';
import type { MailEngine } from '../engines/mail/engine.js';
import { openSmtp } from '../engines/mail/smtp.js';

/** Undefined: it sends no mail. The server is not asked for anything yet, so one that is away keeps no process from its start. */
export async function openMail({
  smtpUrl,
  smtpFrom,
}: Pick<Config, 'smtpUrl' | 'smtpFrom'>): Promise<MailEngine | undefined> {
  return smtpUrl && smtpFrom ? openSmtp({ server: smtpUrl, from: smtpFrom }) : undefined;
}
