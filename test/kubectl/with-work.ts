/**
 * The service that test files share which need work to run, and little of it: `kubectl.test.ts`, `secrets.test.ts` and `mails.test.ts`, whose mail
 * server it has.
 */
import { startRunning, type Running } from '../e2e/running.js';
import { shared } from '../e2e/shared.js';
import { openSmtpServer } from '../support/smtp-server.js';

export const MAIL_PASSWORD = 'hunter2';
export const MAIL_FROM = 'budgets@example.org';

type MailServer = Awaited<ReturnType<typeof openSmtpServer>>;

export interface WithWork {
  readonly service: Running;
  readonly mail: MailServer;
  close(): Promise<void>;
}

export const shareWithWork = shared(async (): Promise<WithWork> => {
  const mail = await openSmtpServer({
    ...{ authOptional: false, allowInsecureAuth: true, disabledCommands: ['STARTTLS'] },
    onAuth({ username = '', password }, _session, done) {
      if (password === MAIL_PASSWORD) done(null, { user: username });
      else done(new Error('wrong'));
    },
  });
  const url = `smtp://troupe:${MAIL_PASSWORD}@127.0.0.1:${mail.port}?tls=off`;
  const service = await startRunning(undefined, { env: { TROUPE_SMTP_URL: url, TROUPE_SMTP_FROM: MAIL_FROM } });
  return {
    ...{ service, mail },
    async close() {
      await service.close();
      await mail.close();
    },
  };
});
