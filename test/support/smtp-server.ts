/** A real SMTP server on loopback, and the mails that it took. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface Received {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | undefined;
  readonly secure: boolean;
  /** Headers, each in one line, and body; lines end with `\n`. */
  readonly source: string;
}

export interface SmtpFixture {
  readonly port: number;
  readonly received: readonly Received[];
  /** Replies to RCPT from now on, by address; others are taken. */
  refuse(address: string, code: number, reply: string): void;
  accept(address: string): void;
  close(): Promise<void>;
}

export async function openSmtpServer(options: SMTPServerOptions = {}): Promise<SmtpFixture> {
  const received: Received[] = [];
  const refused = new Map<string, { readonly code: number; readonly reply: string }>();
  const server = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ['STARTTLS'], logger: false, closeTimeout: 100 },
    onRcptTo({ address }, _session, done) {
      const refusal = refused.get(address);
      done(refusal && Object.assign(new Error(refusal.reply), { responseCode: refusal.code }));
    },
    onData(stream, { envelope, secure, user }, done) {
      const from = envelope.mailFrom ? envelope.mailFrom.address : '';
      const to = envelope.rcptTo.map(({ address }) => address);
      let source = '';
      stream.on('data', (chunk: Buffer) => (source += chunk.toString('latin1')));
      stream.on('end', () => {
        received.push({ from, to, secure, user, source: unfold(source.replaceAll('\r\n', '\n')) });
        done();
      });
    },
    ...options,
  });
  // Clients that break off.
  server.on('error', () => {});
  const listener = server.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    received,
    refuse: (address, code, reply) => void refused.set(address, { code, reply }),
    accept: (address) => void refused.delete(address),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

function unfold(source: string): string {
  const end = source.indexOf('\n\n');
  return source.slice(0, end).replaceAll(/\n[ \t]+/g, ' ') + source.slice(end);
}
