/** How output and its end look as lines of JSON: bytes as text where they are UTF-8, and the exit code with its signal. Pure, but for the head of such an answer. */
import { isUtf8 } from 'node:buffer';
import type { Exchange } from '../exchange.js';

export const FRAMES = 'application/x-ndjson';

export function textOf(data: Uint8Array): { readonly data: string; readonly encoding?: 'base64' } {
  return isUtf8(data)
    ? { data: Buffer.from(data).toString('utf8') }
    : { data: Buffer.from(data).toString('base64'), encoding: 'base64' };
}

export interface ExitView {
  readonly exitCode: number;
  readonly signal?: number;
  readonly timedOut?: true;
}

export function exitView({ exitCode, timedOut }: { readonly exitCode: number; readonly timedOut: boolean }): ExitView {
  return {
    exitCode,
    ...(exitCode > 128 ? { signal: exitCode - 128 } : {}),
    ...(timedOut ? { timedOut: true } : {}),
  };
}

/** Begins an answer of frames; a client that follows sees that it is connected before the first of them comes. */
export function beginFrames({ res, requestId }: Pick<Exchange, 'res' | 'requestId'>): void {
  res.writeHead(200, {
    'content-type': FRAMES,
    'cache-control': 'no-cache, private',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
  });
  res.flushHeaders();
}

export function line(frame: object): string {
  return `${JSON.stringify(frame)}\n`;
}
