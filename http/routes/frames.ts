/** How output and its end look as lines of JSON: bytes as text where they are UTF-8, and the exit code with its signal. Pure. */
import { isUtf8 } from 'node:buffer';

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

export function line(frame: object): string {
  return `${JSON.stringify(frame)}\n`;
}
