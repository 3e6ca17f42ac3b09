/** What single messages and times mean to a Workspace: its schedule, its waits, its tools and its home. Pure. */
import test from 'ava';
import type { Message } from '../../../src/kinds/machine.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { workspaceKind } from '../../../src/kinds/workspace/index.js';
import { HOME_OUTPUT } from '../../../src/kinds/workspace/plan.js';
import type { WorkspaceSpec, WorkspaceStatus } from '../../../src/kinds/workspace/schema.js';
import type { HomeLease, WorkspacePrivate } from '../../../src/kinds/workspace/state.js';
import type { Live } from '../../../src/kinds/single-attempt/state.js';
import { ask, at, contextAt, decided, NOW as THEN, objectOf, owner, type Stored } from '../decide.js';
import { sayAll } from '../told.js';

/** A whole second, as a schedule names it. */
const NOW = THEN - (THEN % 1000);
const MINUTE = 60_000;
const EPOCH = 2;
const LIVE: Live = { epoch: EPOCH, phase: 'Running', acknowledged: true, stopping: false, runningSince: NOW };
const time = (ms: number): string => new Date(ms).toISOString();

function desk(spec: object, kept: Partial<WorkspacePrivate> = {}, metadata: object = {}): Stored {
  const object = objectOf(workspaceKind, { ephemeral: true, idleTimeout: '0s', ...spec }, { namespace: 'default' });
  const whole = { ...object, metadata: { ...object.metadata, ...metadata } };
  return at(whole, { epoch: EPOCH, timers: {}, lost: 0, terms: 0, ...kept });
}

/** One that was just made. */
function made(spec: object, now = NOW): Stored {
  const object = objectOf(workspaceKind, { ephemeral: true, idleTimeout: '0s', ...spec }, { namespace: 'default' });
  return decided(workspaceKind, at(object), { type: 'Created', by: owner }, contextAt(now));
}

/** After a client's write. */
function written(stored: Stored, spec: object, now = NOW): Stored {
  const object = { ...stored.object, spec: { ...Object(stored.object.spec), ...spec } };
  return decided(
    workspaceKind,
    { ...stored, object },
    { type: 'Updated', before: stored.object, by: owner },
    contextAt(now),
  );
}

const fired = (timer: string): Message => ({ type: 'TimerFired', timer, generation: 1 });
const after = (stored: Stored, message: Message, now = NOW): Stored =>
  decided(workspaceKind, stored, message, contextAt(now));
const words = (stored: Stored, message: Message, now = NOW): string =>
  sayAll(ask(workspaceKind, stored, message, contextAt(now)));
const keptOf = (stored: Stored): WorkspacePrivate => stored.private as WorkspacePrivate;
const statusOf = (stored: Stored): WorkspaceStatus => stored.object.status as WorkspaceStatus;
const hear = (content: ObjectMessage, kind = 'Attempt', name = 'one'): Message => {
  const address = { org: 'o-1', kind, project: 'default', name };
  return { type: 'MessageReceived', from: { address, uid: 'u', version: 0 }, content };
};

test('a time to be ready by is a quarter of an hour ahead when it is written, and may come near afterwards', (t) => {
  const refusal = (message: Message, schedule: object, before?: object): string => {
    const stored = desk({ schedule });
    const told = message.type === 'Updated' ? { ...message, before: desk({ schedule: before }).object } : message;
    const decision = ask(workspaceKind, stored, told, contextAt(NOW));
    return decision.outcome === 'Refused' ? (decision.refusal.causes?.[0]?.field ?? '') : decision.outcome;
  };
  const soon = { readyBy: time(NOW + 15 * MINUTE - 1000) };
  const enough = { readyBy: time(NOW + 15 * MINUTE) };
  const created: Message = { type: 'Created', by: owner };
  const updated: Message = { type: 'Updated', before: desk({}).object, by: owner };
  t.is(refusal(created, soon), 'spec.schedule.readyBy');
  t.is(refusal(created, enough), 'Next');
  t.is(refusal(updated, soon), 'spec.schedule.readyBy');
  t.is(refusal(updated, enough), 'Next');
  t.is(refusal(updated, soon, soon), 'Next', 'it is not written now');
  t.is(refusal({ type: 'Activated' }, soon), 'Next');
  t.is(refusal(created, { stopAt: time(NOW) }), 'spec.schedule.stopAt');
  t.is(refusal(created, { stopAt: time(NOW + 1000) }), 'Next');
  t.is(refusal(updated, { stopAt: time(NOW) }), 'Next', 'what runs is stopped by it');
});

test('one that is made for a time waits for it, and no longer when it is stopped or has no such time any more', (t) => {
  const readyBy = NOW + 60 * MINUTE;
  const begins = readyBy - 15 * MINUTE;
  const waiting = made({ schedule: { readyBy: time(readyBy) } });
  t.like(keptOf(waiting), { waits: true, live: undefined, timers: { ready: begins } });
  t.like(statusOf(waiting), { phase: 'Pending', reason: 'WaitingForSchedule' });
  t.is(keptOf(after(waiting, fired('ready'), begins - 1)).live, undefined, 'too early');
  const begun = after(waiting, fired('ready'), begins);
  t.like(keptOf(begun), { waits: undefined, started: begins, live: { epoch: 1 } });
  t.false('ready' in keptOf(begun).timers, 'each time comes once');
  const stopped = written(waiting, { state: 'Stopped' });
  t.is(keptOf(stopped).waits, undefined);
  t.like(statusOf(stopped), { phase: 'Stopped', stopReason: 'Requested' });
  const hurried = written(waiting, { schedule: undefined });
  t.like(keptOf(hurried), { waits: undefined, live: { epoch: 1 } });
  const later = written(waiting, { schedule: { readyBy: time(readyBy + MINUTE) } });
  t.like(keptOf(later), { waits: true, live: undefined, timers: { ready: begins + MINUTE } });
  t.is(keptOf(made({ schedule: { readyBy: time(readyBy) }, state: 'Stopped' })).waits, undefined);
  t.is(keptOf(made({ schedule: { readyBy: time(NOW + 15 * MINUTE) } })).live?.epoch, 1, 'its time is now');
});

test('a time to stop at stops what runs, once, in the millisecond in which it comes', (t) => {
  const stopAt = NOW + 60 * MINUTE;
  const running = desk({ schedule: { stopAt: time(stopAt) } }, { live: LIVE });
  const early = after(running, fired('stopAt'), stopAt - 1);
  t.is(keptOf(early).timers['stopAt'], stopAt);
  t.is((early.object.spec as WorkspaceSpec).state, 'Running');
  const stopped = after(running, fired('stopAt'), stopAt);
  t.like(keptOf(stopped), { stopped: stopAt, timers: {} });
  t.is(statusOf(stopped).stopReason, 'Schedule');
  t.is((stopped.object.spec as WorkspaceSpec).state, 'Stopped');
  const again = desk({ schedule: { stopAt: time(stopAt) } }, { live: LIVE, stopped: stopAt });
  t.is(
    (after(again, fired('resync'), stopAt + 1).object.spec as WorkspaceSpec).state,
    'Running',
    'it was started since',
  );
  const resting = desk({ schedule: { stopAt: time(stopAt) }, state: 'Stopped' });
  t.is(statusOf(after(resting, fired('stopAt'), stopAt)).stopReason, undefined, 'it was stopped by its client');
});

test('a wait for a place ends with its limit, and counts from when the Attempt was made', (t) => {
  const waits = { ...LIVE, phase: 'Made', runningSince: undefined, wait: 'no memory is free' } as const;
  const waiting = (kept: Partial<WorkspacePrivate>, queueTimeout = '5m'): Stored =>
    desk({ placement: { queueTimeout } }, { live: waits, queuedSince: NOW, ...kept });
  const due = NOW + 5 * MINUTE;
  t.is(keptOf(after(waiting({}), fired('queue'), due - 1)).timers['queue'], due);
  const failed = after(waiting({}), fired('queue'), due);
  t.like(keptOf(failed), {
    failure: { reason: 'CapacityUnavailable' },
    queuedSince: undefined,
    live: { stopping: true },
  });
  t.false('queue' in keptOf(failed).timers);
  const unheard = { ...waits, wait: undefined };
  t.is(keptOf(after(waiting({ live: unheard }), fired('resync'), due)).timers['queue'], undefined, 'nothing was heard');
  t.is(keptOf(after(waiting({}, '0s'), fired('resync'), due)).timers['queue'], undefined, 'there is no limit');
  t.is(keptOf(after(waiting({ queuedSince: undefined }), fired('resync'), due)).queuedSince, due, 'it begins to wait');
  t.is(keptOf(after(waiting({ live: LIVE }), fired('resync'), due)).queuedSince, undefined, 'it runs');
  t.is(keptOf(after(waiting({ live: { ...waits, stopping: true } }), fired('resync'), due)).queuedSince, undefined);
});

test('tools that were found count for the session in which they were found, and are news once', (t) => {
  const running = desk({}, { live: LIVE });
  const found = (epoch: number, tools: readonly ('terminal' | 'vscode')[]): Message =>
    hear({ type: 'ToolsFound', epoch, tools } as unknown as ObjectMessage);
  const outcome = (stored: Stored, message: Message): string =>
    ask(workspaceKind, stored, message, contextAt(NOW)).outcome;
  for (const epoch of [EPOCH - 1, EPOCH + 1]) t.is(outcome(running, found(epoch, ['vscode'])), 'Ignored');
  t.is(outcome(desk({ state: 'Stopped' }), found(EPOCH, ['vscode'])), 'Ignored', 'it does not run');
  const known = after(running, found(EPOCH, ['vscode']));
  t.is(outcome(known, found(EPOCH, ['vscode'])), 'Ignored');
  t.is(outcome(known, found(EPOCH, ['terminal'])), 'Next');
});

const LEASE: HomeLease = { volume: 'home', of: 'v', term: 3, epoch: EPOCH, at: 'Granted', since: NOW };
const HOME = { volume: 'home', ephemeral: undefined };

test('opened again a Workspace asks its Attempt and its Volume, and one that is deleted lets an unsaved home go', (t) => {
  const GOING = { deletionTimestamp: time(NOW), finalizers: ['example.org/hold'] };
  const opened = (kept: Partial<WorkspacePrivate>, metadata: object = {}, spec: object = HOME): string =>
    words(desk(spec, { timers: { resync: NOW + 1 }, ...kept }, metadata), { type: 'Activated' });
  t.is(opened({ live: LIVE, lease: LEASE }), 'AttemptAsked');
  t.is(opened({ live: { ...LIVE, unsaved: true }, lease: LEASE }), 'AttemptAsked');
  t.regex(
    opened({ live: { ...LIVE, unsaved: true, stopping: true }, lease: LEASE }, GOING),
    /^DeleteChild, AttemptAsked$/,
  );
  t.notRegex(opened({ live: { ...LIVE, stopping: true }, lease: LEASE }, GOING), /DeleteChild/);
  const asked = { ...LEASE, at: 'Wanted' } as const;
  t.regex(opened({ lease: asked }), /LeaseWanted/);
  t.regex(opened({ lease: { ...asked, at: 'Returning' } }, {}, { ...HOME, state: 'Stopped' }), /LeaseReturned/);
});

test('a Volume that does not answer is asked again, and then once more', (t) => {
  const asked = desk(HOME, { lease: { ...LEASE, epoch: EPOCH + 1, at: 'Wanted' }, timers: { lease: NOW + 10_000 } });
  const again = decided(workspaceKind, asked, fired('lease'), contextAt(NOW + 10_000));
  t.regex(again.effects.map((effect) => (effect.type === 'Tell' ? effect.message.type : '')).join(), /LeaseWanted/);
  t.like(keptOf(again), { lease: { since: NOW + 10_000, term: 3 }, timers: { lease: NOW + 20_000 } });
  const without = desk({}, { live: LIVE, timers: { lease: NOW } });
  t.is(words(without, fired('lease'), NOW), '', 'there is no Volume to ask');
});

test('what an Attempt has saved goes to the Volume under the lease of its own epoch, and to no other', (t) => {
  const outputs = [{ name: HOME_OUTPUT, sha256: 'a'.repeat(64), size: 10, logical: 30, directory: true }];
  const ended = (lease: Partial<HomeLease>): WorkspacePrivate => {
    const stored = desk(
      { ...HOME, state: 'Stopped' },
      { live: { ...LIVE, stopping: true }, lease: { ...LEASE, ...lease } },
    );
    const change = {
      type: 'AttemptChanged',
      slot: 0,
      epoch: EPOCH,
      phase: 'Cancelled',
      lost: false,
      reason: 'Stopped',
    };
    return keptOf(after(stored, hear({ ...change, message: '', time: NOW, outputs } as ObjectMessage)));
  };
  t.like(ended({}).lease, { at: 'Returning', saved: { digest: `sha256:${'a'.repeat(64)}`, size: 10, logical: 30 } });
  t.is(ended({ epoch: EPOCH - 1 }).lease?.saved, undefined);
  t.is(ended({ at: 'Denied' }).lease?.saved, undefined);
});

test('the phase of a Workspace follows from what is wanted of it, its Attempt and its home', (t) => {
  const failure = { reason: 'StartupFailed', message: 'no' };
  const recovering = { reason: 'NodeLost', message: 'gone' };
  const phase = (kept: Partial<WorkspacePrivate>, spec: object = {}, metadata: object = {}): unknown =>
    statusOf(after(desk(spec, kept, metadata), fired('resync'))).phase;
  const STOPPED = { state: 'Stopped' };
  const GOING = { deletionTimestamp: time(NOW), finalizers: ['example.org/hold'] };
  const stopping = { ...LIVE, stopping: true };
  const ended = { ...LIVE, phase: 'Ended' } as const;
  t.is(phase({ live: { ...LIVE, phase: 'Made' } }), 'Pending');
  t.is(phase({ live: { ...LIVE, phase: 'Placed' } }), 'Starting');
  t.is(phase({ live: LIVE }), 'Running');
  t.is(phase({ live: { ...LIVE, unsaved: true } }), 'Stopping');
  t.is(phase({ live: stopping }, STOPPED), 'Stopping');
  t.is(phase({ live: { ...stopping, phase: 'Placed' } }, STOPPED), 'Stopping');
  t.is(phase({ live: ended }, STOPPED), 'Stopping');
  t.is(phase({ live: ended, recovering }), 'Pending', 'it comes back');
  t.is(phase({ live: ended, recovering }, STOPPED), 'Stopping');
  t.is(phase({ live: ended }), 'Stopping', 'it was stopped and is wanted again');
  t.is(phase({ live: ended, failure }), 'Failed');
  t.is(phase({ failure }), 'Failed');
  t.is(phase({ failure }, STOPPED), 'Failed');
  t.is(phase({}, STOPPED), 'Stopped');
  t.is(phase({ lease: { ...LEASE, at: 'Returning' } }, { ...HOME, ...STOPPED }), 'Stopping', 'its home is on its way');
  t.is(phase({ lease: { ...LEASE, at: 'Returning' } }, HOME), 'Stopping');
  t.is(phase({ lease: { ...LEASE, epoch: EPOCH + 1, at: 'Denied' } }, HOME), 'Pending');
  t.is(phase({ failure }, {}, GOING), 'Stopping');
  t.is(phase({ live: ended, failure }, {}, GOING), 'Stopping');
  t.is(phase({ live: stopping }, {}, GOING), 'Stopping');
});

test('a changed spec lets a Workspace try again what has failed, and nothing else does', (t) => {
  const failed = desk({}, { failure: { reason: 'StartupFailed', message: 'no' }, lost: 2 });
  t.like(keptOf(written(failed, { idleTimeout: '1h' })), { failure: undefined, lost: 0, live: { epoch: EPOCH + 1 } });
  t.like(keptOf(written(failed, {})), { failure: { reason: 'StartupFailed' }, lost: 2, live: undefined });
  const lost = desk({}, { recovering: { reason: 'NodeLost', message: 'gone' }, lost: 2, notBefore: NOW + 2000 });
  t.like(keptOf(written(lost, {})), { recovering: { reason: 'NodeLost' }, lost: 2, live: undefined });
  t.like(keptOf(written(lost, { state: 'Stopped' })), { recovering: undefined, lost: 0, notBefore: undefined });
});

test('under deletion a Workspace asks again after ten seconds, for as long as something of it is left', (t) => {
  const GOING = { deletionTimestamp: time(NOW), finalizers: ['example.org/hold'] };
  const resync = (kept: Partial<WorkspacePrivate>, metadata: object): number | undefined =>
    keptOf(after(desk(HOME, kept, metadata), { type: 'DeletionRequested' })).timers['resync'];
  t.is(resync({ live: LIVE, lease: LEASE }, GOING), NOW + 10_000);
  t.is(resync({ lease: { ...LEASE, at: 'Returning' } }, GOING), NOW + 10_000);
  t.is(resync({}, GOING), undefined);
});
