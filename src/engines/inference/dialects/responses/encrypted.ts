/**
 * `encrypted_content` of a reasoning item: how a client that keeps the conversation itself brings thinking back with the signature of its vendor. It is packed, not
 * encrypted: it holds what the client is shown anyway, and the vendor's own seal. What another service has packed says nothing here.
 */
import { isObject } from '../../../../api/safe-value.js';
import type { AssistantPart } from '../conversation.js';
import { parse } from '../frames.js';

const PREFIX = 'thinking1.';

export type Sealed =
  | { readonly thinking: string; readonly signature: string }
  /** Thinking that its vendor shows to nobody. */
  | { readonly data: string };

export function writeEncrypted(sealed: Sealed): string {
  return PREFIX + Buffer.from(JSON.stringify(sealed)).toString('base64url');
}

export function readEncrypted(content: unknown): readonly AssistantPart[] {
  if (typeof content !== 'string' || !content.startsWith(PREFIX)) return [];
  const sealed = parse(Buffer.from(content.slice(PREFIX.length), 'base64url').toString('utf8'));
  if (!isObject(sealed)) return [];
  const { thinking, signature, data } = sealed;
  if (typeof data === 'string') return [{ is: 'HiddenThinking', data }];
  return typeof thinking === 'string' && typeof signature === 'string' && signature !== ''
    ? [{ is: 'Thinking', text: thinking, signature }]
    : [];
}
