/**
 * The format numbers of stored JSON, and the upcasters from each older form to the current one. A row is written in the
 * current format and read in any: the reader upcasts it, one step at a time, and never writes it back by itself.
 *
 * To change a stored form: raise its number here and add the step from the old one. Never change or remove a step.
 */

import type { LaterEffect } from '../src/kinds/effect.js';
import type { Hold } from '../src/money/hold.js';
import type { StoredTimer } from './store.js';

/** Brings a value of format n to n + 1. The key is n. */
export type Upcasters = Readonly<Record<number, (value: unknown) => unknown>>;

export interface Format {
  readonly current: number;
  readonly steps: Upcasters;
}

/** Forms of `effects.body`, `objects.private`, `slots.detail`, `holds.body` and of rows in `timers`. */
export interface Formats {
  readonly effects: Format;
  readonly private: Format;
  readonly slots: Format;
  readonly timers: Format;
  readonly holds: Format;
}

/** The form was the same; only its number is raised. */
const asItWas = (value: unknown): unknown => value;

/** Format 0 is what was written before the first release. */
export const FORMATS: Formats = {
  effects: { current: 2, steps: { 0: answerNobody, 1: nameMessages } },
  private: { current: 2, steps: { 0: asItWas, 1: namePrivate } },
  slots: { current: 1, steps: { 0: asItWas } },
  timers: { current: 1, steps: { 0: asItWas } },
  holds: { current: 1, steps: { 0: asItWas } },
};

/** Effects 0 → 1: `CollectChildren` had no `answer`, since no owner waited for it. */
function answerNobody(stored: unknown): unknown {
  if (!Array.isArray(stored)) return stored;
  return stored.map((effect: unknown) =>
    isRecord(effect) && effect['type'] === 'CollectChildren' ? { answer: false, ...effect } : effect,
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Effects 1 → 2: the message of a `Tell` was its `letter`, and so was the type of the message. */
function nameMessages(stored: unknown): unknown {
  if (!Array.isArray(stored)) return stored;
  return stored.map((effect: unknown) => {
    if (!isRecord(effect) || effect['type'] !== 'Tell') return effect;
    const { letter, ...rest } = effect;
    if (!isRecord(letter)) return effect;
    const { letter: type, ...message } = letter;
    return { ...rest, message: { type, ...message } };
  });
}

/** Private state 1 → 2: of Sandboxes and Workspaces, whose `live.heard` and `turning.told` have other names. */
function namePrivate(stored: unknown): unknown {
  if (!isRecord(stored)) return stored;
  const { live, turning, ...rest } = stored;
  return {
    ...rest,
    ...(live !== undefined && { live: renamed(live, 'heard', 'acknowledged') }),
    ...(turning !== undefined && { transition: renamed(turning, 'told', 'reported') }),
  };
}

function renamed(value: unknown, from: string, to: string): unknown {
  if (!isRecord(value) || !(from in value)) return value;
  const { [from]: kept, ...rest } = value;
  return { ...rest, [to]: kept };
}

/** What this program writes. */
export const CURRENT_FORMAT = {
  effects: FORMATS.effects.current,
  private: FORMATS.private.current,
  slots: FORMATS.slots.current,
  timers: FORMATS.timers.current,
  holds: FORMATS.holds.current,
} as const;

export class UnknownFormatError extends Error {
  constructor(what: string, format: number, current: number) {
    super(`stored ${what} is in format ${format}; this program reads formats up to ${current}`);
    this.name = 'UnknownFormatError';
  }
}

/** What the current forms are to those who read them. */
export interface CurrentForms {
  readonly effects: readonly LaterEffect[];
  /** Known to its machine only. */
  readonly private: unknown;
  readonly slots: Readonly<Record<string, unknown>>;
  readonly timers: StoredTimer;
  readonly holds: Hold;
}

/** The value in the current form. Throws `UnknownFormatError` for a format from a newer program or without a step. */
export function upcast<What extends keyof Formats>(
  what: What,
  format: number,
  value: unknown,
  formats?: Formats,
): CurrentForms[What];
export function upcast(what: keyof Formats, format: number, value: unknown, formats: Formats = FORMATS): unknown {
  const { current, steps } = formats[what];
  if (format > current) throw new UnknownFormatError(what, format, current);
  let at = format;
  let result = value;
  for (; at < current; at++) {
    const step = steps[at];
    if (step === undefined) throw new UnknownFormatError(what, format, current);
    result = step(result);
  }
  return result;
}
