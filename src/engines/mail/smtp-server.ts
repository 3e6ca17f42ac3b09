/**
 * The SMTP server as its URL names it: `smtps://user:password@host:465` (TLS from the start), `smtp://host:587` (STARTTLS, required), or
 * `smtp://localhost:25?tls=off`. The operator chooses the host, so it may be any: what users name is only ever an address of a mail.
 */

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** `Off`: mail and addresses are sent in the clear. */
  readonly tls: 'Immediate' | 'StartTls' | 'Off';
  readonly login?: { readonly user: string; readonly password: string } | undefined;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Or what is wrong with it, without a part of it: it may carry a password. */
export function parseSmtpUrl(text: string): SmtpServer | { readonly fault: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') return { fault: FORM };
  if ((url.pathname !== '' && url.pathname !== '/') || url.hash !== '') return { fault: FORM };
  const clear = url.search === '?tls=off';
  if (url.search !== '' && !clear) return { fault: 'may have no parameter but tls=off' };
  if (clear && url.protocol === 'smtps:') return { fault: 'must be smtp:// with tls=off' };
  if ((url.username === '') !== (url.password === ''))
    return { fault: 'must have both a user and a password, or neither' };
  if (clear && url.username !== '' && !LOOPBACK.test(url.hostname))
    return { fault: 'must not send a password with tls=off, except to this machine' };
  const login = loginOf(url);
  if (login === undefined) return { fault: 'has a user or a password that is not percent-encoded well' };
  const secure = url.protocol === 'smtps:';
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    tls: secure ? 'Immediate' : clear ? 'Off' : 'StartTls',
    login: login === 'None' ? undefined : login,
  };
}

const FORM = 'must be a URL such as smtps://user:password@mail.example.com or smtp://mail.example.com:587';

function loginOf({ username, password }: URL): SmtpServer['login'] | 'None' {
  if (username === '') return 'None';
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return undefined;
  }
}
