/** The states that a Sandbox can be in, and what may be said to it, for tests of single decisions. */
import { attemptName } from '../../../src/kinds/attempts/names.js';
import type { LaterEffect } from '../../../src/kinds/effect.js';
import type { Message } from '../../../src/kinds/machine.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { sandboxKind } from '../../../src/kinds/sandbox/index.js';
import type { SandboxStatus } from '../../../src/kinds/sandbox/schema.js';
import { STUCK_MS, type SandboxPrivate } from '../../../src/kinds/sandbox/state.js';
import type { Live } from '../../../src/kinds/single-attempt/state.js';
import { at, NOW, objectOf, type Stored } from '../decide.js';
import { told as toldOf } from '../told.js';

export const EPOCH = 2;
export const LIVE: Live = {
  epoch: EPOCH,
  phase: 'Running',
  acknowledged: true,
  stopping: false,
  runningSince: NOW - 60_000,
};
const MADE: Live = { epoch: EPOCH, phase: 'Made', acknowledged: false, stopping: false };
const LOST = { reason: 'NodeLost', message: 'gone' };
export const BORN = '2026-01-02T02:04:05Z';
export const LIFETIME_MS = 24 * 3_600_000;

/** `spec.state`, phase, and what is kept. */
export const STATES = {
  made: ['Running', 'Pending', { live: MADE }],
  placed: ['Running', 'Starting', { live: { ...MADE, phase: 'Placed', acknowledged: true } }],
  running: ['Running', 'Running', { live: LIVE }],
  unsaved: ['Running', 'Stopping', { live: { ...LIVE, unsaved: true } }],
  stopping: ['Stopped', 'Stopping', { live: { ...LIVE, stopping: true } }],
  ended: ['Stopped', 'Stopping', { live: { ...LIVE, phase: 'Ended', stopping: true } }],
  recovering: ['Running', 'Recovering', { live: { ...LIVE, phase: 'Ended' }, recovering: LOST, lost: 1 }],
  paused: ['Running', 'Recovering', { recovering: LOST, lost: 3, notBefore: NOW + 2000 }],
  failed: ['Running', 'Failed', { failure: { reason: 'StartupFailed', message: 'no' } }],
  stopped: ['Stopped', 'Stopped', {}],
  going: ['Running', 'Terminating', { live: { ...LIVE, stopping: true } }],
} as const satisfies Record<string, readonly [string, string, Partial<SandboxPrivate>]>;
export type State = keyof typeof STATES;
export const STATE_NAMES = Object.keys(STATES) as State[];

export function sandbox(
  name: State,
  spec: object = {},
  metadata: object = {},
  more: Partial<SandboxPrivate> = {},
): Stored {
  const [state, phase, kept] = STATES[name];
  const lifecycle = { idleTimeout: '0s', maxLifetime: '24h' };
  const object = objectOf(
    sandboxKind,
    { image: 'python:3.12', state, lifecycle, ...spec },
    {
      ...{ namespace: 'default', creationTimestamp: BORN },
    },
  );
  const going = name === 'going' ? { deletionTimestamp: BORN } : {};
  const status: SandboxStatus = { ...(object.status as SandboxStatus), phase };
  const moves = phase === 'Starting' || phase === 'Stopping';
  const timers = name === 'going' ? { resync: NOW + 1000 } : { expire: Date.parse(BORN) + LIFETIME_MS };
  const stuck = moves && {
    timers: { ...timers, stuck: NOW + STUCK_MS },
    transition: { phase, since: NOW, reported: false },
  };
  return at(
    { ...object, metadata: { ...object.metadata, ...going, ...metadata }, status },
    { epoch: EPOCH, lost: 0, requests: {}, timers, ...stuck, ...kept, ...more },
  );
}

function show(status: unknown, kept: unknown): string {
  const { phase, stopReason } = status as SandboxStatus;
  const { live, lost, failure, recovering } = kept as SandboxPrivate;
  const flags = [live?.acknowledged === false && 'unheard', live?.stopping && 'stopping', live?.unsaved && 'unsaved'];
  const rest = [lost > 0 && `lost ${lost}`, failure?.reason, recovering && 'recovering', stopReason];
  return [phase, live && `${live.phase} ${live.epoch}`, ...flags, ...rest].filter(Boolean).join(' ');
}

export const told = (stored: Stored, message: Message, now = NOW): string =>
  toldOf(sandboxKind, stored, message, show, now);

const NAME = attemptName({ name: 'one', uid: 'uid-0' }, 0, EPOCH);
const address = { org: 'o-1', kind: 'Attempt', project: 'default', name: NAME };
export const hear = (content: ObjectMessage): Message => ({
  ...{ type: 'MessageReceived', from: { address, uid: 'a', version: 0 }, content },
});
const CHANGED = {
  type: 'AttemptChanged',
  slot: 0,
  epoch: EPOCH,
  lost: false,
  reason: '',
  message: '',
  time: NOW,
} as const;
export const changed = (phase: string, more: object = {}): ObjectMessage =>
  ({ ...CHANGED, phase, ...more }) as ObjectMessage;
export const fails = (effect: object, reason: string): Message => ({
  ...{ type: 'EffectFailed', effect: effect as LaterEffect, reason, message: 'no' },
});
export const CREATE = { type: 'CreateChild', kind: 'Attempt', name: NAME };
export const TELL = { type: 'Tell', to: address, message: { type: 'AttemptAsked', epoch: EPOCH } };
export const LOSS = { lost: true, reason: 'NodeLost', message: 'gone' };
