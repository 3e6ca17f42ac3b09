/** What sends mail: one interface, so that nothing else knows of SMTP. Its contract is tested against a real server. */

export interface Mail {
  /** A UUID. The same at each try of one mail, so that a receiver can know a repeat by its Message-ID. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  /** Plain text; lines end with `\n`. */
  readonly text: string;
}

export type MailOutcome =
  /** The server has taken it over. What becomes of it behind that server is not known. */
  | { readonly outcome: 'Sent' }
  /** The server will never take it, or the address is none. `message` is the server's reply. */
  | { readonly outcome: 'Refused'; readonly message: string }
  /** Not now: nobody answers, the server is busy, or it does not let this service in. Whether it has taken the mail may be unknown. */
  | { readonly outcome: 'Retry'; readonly message: string };

export interface MailEngine {
  /** Never rejects; takes at most `SEND_WITHIN_MS`. */
  send(mail: Mail): Promise<MailOutcome>;
}

/** Longest time for one mail, from the look-up of the server's name to its last reply (ms). */
export const SEND_WITHIN_MS = 60_000;

/** Longest that the other side's words may be in an outcome. */
export const MOST_MESSAGE = 300;

/** As it may stand in an envelope and a header: one address of ASCII, without a name, comments, quotes or literals. */
const ADDRESS = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z\d]([a-z\d-]*[a-z\d])?(\.[a-z\d]([a-z\d-]*[a-z\d])?)*$/i;

export function isMailAddress(text: string): boolean {
  return text.length <= 254 && ADDRESS.test(text);
}
