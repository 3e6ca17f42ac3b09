/**
 * The service that test files share which need work to run, and little of it: `kubectl.test.ts`, `secrets.test.ts` and `mails.test.ts`, whose mail
 * server it has.
 */
import { shareRunning, type Running } from '../e2e/running.js';
import { openSmtpServer } from '../support/smtp-server.js';

export const MAIL_PASSWORD = 'hunter2';
export const MAIL_FROM = 'budgets@example.org';

type MailServer = Awaited<ReturnType<typeof openSmtpServer>>;

export interface WithWork {
  readonly service: Running;
  readonly mail: MailServer;
  close(): Promise<void>;
}

let opened: Promise<MailServer> | undefined;
let users = 0;

function open(): Promise<MailServer> {
  return openSmtpServer({
    ...{ authOptional: false, allowInsecureAuth: true, disabledCommands: ['STARTTLS'] },
    onAuth({ username = '', password }, _session, done) {
      if (password === MAIL_PASSWORD) done(null, { user: username });
      else done(new Error('wrong'));
    },
  });
}

export async function shareWithWork(): Promise<WithWork> {
  users += 1;
  opened ??= open();
  const mail = await opened;
  const url = `smtp://troupe:${MAIL_PASSWORD}@127.0.0.1:${mail.port}?tls=off`;
  const service = await shareRunning(undefined, { env: { TROUPE_SMTP_URL: url, TROUPE_SMTP_FROM: MAIL_FROM } });
  return {
    ...{ service, mail },
    async close() {
      await service.close();
      users -= 1;
      if (users === 0) await mail.close();
    },
  };
}
