/** What each message means in each state of an Attempt: its table of transitions, and that only its own epoch counts. Pure. */
import test from 'ava';
import { replacesLost } from '../../../src/kinds/attempt/annotations.js';
import { attemptKind } from '../../../src/kinds/attempt/index.js';
import { payerAnnotations } from '../../../src/kinds/attempts/payer.js';
import { termsAnnotations } from '../../../src/kinds/attempts/terms.js';
import type { AttemptStatus } from '../../../src/kinds/attempt/schema.js';
import { WORK_FINALIZER } from '../../../src/kinds/attempt/state.js';
import type { Message } from '../../../src/kinds/machine.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { ask, at, decided, NOW, objectOf, type Next, type Stored } from '../decide.js';
import { told as toldOf } from '../told.js';

const EPOCH = 3;
const OWNER = { apiVersion: 'svc.dev/v1', kind: 'Job', name: 'owner', uid: 'owner-uid', controller: true };
const OUTPUT = { name: 'model', sizeBytes: 1, digest: `sha256:${'a'.repeat(64)}` };

/** Phase, and what is kept beside it. */
const STATES = {
  queued: ['Queued', { work: 'None' }],
  starting: ['Provisioning', { work: 'Live' }],
  running: ['Running', { work: 'Live' }],
  stopping: ['Running', { work: 'Live', stopping: 'Stopped' }],
  saving: ['Running', { work: 'Live', saving: {} }],
  unsaved: ['Running', { work: 'Live', saving: { error: 'full' }, stopping: 'Stopped' }],
  removing: ['Running', { work: 'Going', stopping: 'Stopped' }],
  ended: ['Failed', { work: 'Going', outputs: [OUTPUT] }],
  gone: ['Succeeded', { work: 'Gone', outputs: [OUTPUT] }],
  taken: ['Succeeded', { work: 'Gone' }],
  'never placed': ['Cancelled', { work: 'None' }],
} as const;
type State = keyof typeof STATES;
const STATE_NAMES = Object.keys(STATES) as State[];

function attempt(state: State, metadata: object = {}): Stored {
  const [phase, kept] = STATES[state];
  const object = objectOf(attemptKind, { epoch: EPOCH, slot: 0 }, { namespace: 'a', ownerReferences: [OWNER] });
  const status = { ...(object.status as AttemptStatus), phase };
  return at({ ...object, metadata: { ...object.metadata, ...metadata }, status }, kept);
}

function show(status: unknown, kept: unknown): string {
  const { work, stopping, saving } = kept as { work: string; stopping?: string; saving?: object };
  const { phase, reason } = status as AttemptStatus;
  return [phase, reason, work, stopping, saving && 'saving'].filter(Boolean).join(' ');
}

const told = (stored: Stored, message: Message): string => toldOf(attemptKind, stored, message, show);

const from = { address: { org: 'o-1', kind: 'Job', project: 'a', name: 'owner' }, uid: 'owner-uid', version: 0 };
const hear = (content: ObjectMessage): Message => ({ type: 'MessageReceived', from, content });
const fired = (timer: string): Message => ({ type: 'TimerFired', timer, generation: 1 });

const GRANT = { type: 'PlaceGranted', offering: 'cpu-local', regionClass: 'local' } as const;
const DENIED = { type: 'PlaceDenied', reason: 'no memory is free' } as const;
/** Deleted, and held by its finalizer. */
const GOING = { deletionTimestamp: '2026-01-02T00:00:00Z' };
const OF_EPOCH = { epoch: EPOCH };
const STOP = { type: 'StopAttempt', ...OF_EPOCH, reason: 'Suspended', graceSeconds: 10 } as const;
const DROP = { type: 'DropAttempt', ...OF_EPOCH } as const;

/** By message, what comes of it in each state; in a state that is not named it is Ignored. */
const TABLE: readonly (readonly [string, Message, object, Partial<Record<State, string>>])[] = [
  [
    'granted',
    hear(GRANT),
    {},
    {
      queued: 'Provisioning Live: StartWork, AttemptChanged, PlaceWanted true',
      starting: 'volatile: PlaceWanted true',
      running: 'volatile: PlaceWanted true',
      stopping: 'volatile: PlaceWanted true',
      saving: 'volatile: PlaceWanted true',
      unsaved: 'volatile: PlaceWanted true',
      removing: 'volatile: PlaceWanted true',
      ended: 'volatile: PlaceWanted true',
      'never placed': 'volatile: PlaceReleased',
    },
  ],
  [
    'denied for now',
    hear({ ...DENIED, final: false }),
    {},
    {
      queued: 'Queued WaitingForCapacity None: AttemptChanged',
    },
  ],
  [
    'denied for ever',
    hear({ ...DENIED, final: true }),
    {},
    {
      queued: 'Failed CapacityUnavailable None: AttemptChanged, PlaceReleased',
    },
  ],
  [
    'stopped',
    hear(STOP),
    {},
    {
      queued: 'Cancelled Suspended None: AttemptChanged, PlaceReleased',
      starting: 'Provisioning Live Suspended: StopWork 10, ArmTimer stop 40',
      running: 'Running Live Suspended: StopWork 10, ArmTimer stop 40',
      saving: 'Running Live Suspended saving:',
      ended: 'volatile: AttemptChanged',
      gone: 'volatile: AttemptChanged',
      taken: 'volatile: AttemptChanged',
      'never placed': 'volatile: AttemptChanged',
    },
  ],
  [
    'dropped',
    hear({ ...DROP, graceSeconds: 10 }),
    {},
    {
      queued: 'Cancelled Released None: AttemptChanged, PlaceReleased, DeleteSelf',
      starting: 'Provisioning Live Released: StopWork 10, ArmTimer stop 40, DeleteSelf',
      running: 'Running Live Released: StopWork 10, ArmTimer stop 40, DeleteSelf',
      stopping: 'DeleteSelf',
      saving: 'Running Going Released: RemoveWork true, DeleteSelf',
      unsaved: 'Running Going Stopped: RemoveWork true, CancelTimer stop, DeleteSelf',
      removing: 'DeleteSelf',
      ended: 'RemoveWork true, DeleteSelf',
      gone: 'RemoveWork true, DeleteSelf',
      taken: 'RemoveWork true, DeleteSelf',
      'never placed': 'DeleteSelf',
    },
  ],
  [
    'dropped at once',
    hear({ ...DROP, graceSeconds: 0 }),
    {},
    {
      queued: 'Cancelled Released None: AttemptChanged, PlaceReleased, DeleteSelf',
      starting: 'Provisioning Going Released: RemoveWork true, DeleteSelf',
      running: 'Running Going Released: RemoveWork true, DeleteSelf',
      stopping: 'Running Going Stopped: RemoveWork true, CancelTimer stop, DeleteSelf',
      saving: 'Running Going Released: RemoveWork true, DeleteSelf',
      unsaved: 'Running Going Stopped: RemoveWork true, CancelTimer stop, DeleteSelf',
      removing: 'DeleteSelf',
      ended: 'RemoveWork true, DeleteSelf',
      gone: 'RemoveWork true, DeleteSelf',
      taken: 'RemoveWork true, DeleteSelf',
      'never placed': 'DeleteSelf',
    },
  ],
  [
    'dropped while it goes',
    hear({ ...DROP, graceSeconds: 0 }),
    GOING,
    {
      queued: 'volatile: PlaceWanted false',
      starting: 'Provisioning Going Released: RemoveWork true, DeleteSelf',
      running: 'Running Going Released: RemoveWork true, DeleteSelf',
      stopping: 'volatile: PlaceWanted true, StopWork 30, AttemptChanged',
      saving: 'Running Going Released: RemoveWork true, DeleteSelf',
      unsaved: 'volatile: PlaceWanted true, StopWork 30, AttemptChanged',
      removing: 'volatile: PlaceWanted true, RemoveWork true',
      ended: 'volatile: PlaceWanted true, RemoveWork true',
    },
  ],
  [
    'deleted',
    { type: 'DeletionRequested' },
    GOING,
    {
      queued: 'Cancelled Released None: AttemptChanged, PlaceReleased',
      starting: 'Provisioning Live Released: StopWork 30, ArmTimer stop 60',
      running: 'Running Live Released: StopWork 30, ArmTimer stop 60',
      stopping: '',
      saving: 'Running Live Released saving:',
      unsaved: 'ArmTimer stop 60',
      removing: '',
      ended: 'RemoveWork true',
      gone: 'RemoveWork true',
      taken: 'RemoveWork true',
      'never placed': '',
    },
  ],
  [
    'asked how it stands',
    hear({ type: 'AttemptAsked', ...OF_EPOCH }),
    {},
    {
      queued: 'volatile: AttemptChanged',
      starting: 'volatile: AttemptChanged',
      running: 'volatile: AttemptChanged',
      stopping: 'volatile: AttemptChanged',
      saving: 'volatile: AttemptChanged',
      unsaved: 'volatile: AttemptChanged',
      removing: 'volatile: AttemptChanged',
      ended: 'volatile: AttemptChanged',
      gone: 'volatile: AttemptChanged',
      taken: 'volatile: AttemptChanged',
      'never placed': 'volatile: AttemptChanged',
    },
  ],
  [
    'told that its outputs are taken',
    hear({ type: 'OutputsTaken', ...OF_EPOCH }),
    {},
    {
      ended: 'ReleaseBlobs',
      gone: 'ReleaseBlobs',
    },
  ],
  [
    'superseded',
    hear({ type: 'AttemptSuperseded', ...OF_EPOCH, by: 'one-4' }),
    {},
    {
      queued: '',
      starting: '',
      running: '',
      stopping: '',
      saving: '',
      unsaved: '',
      removing: '',
      ended: '',
      gone: '',
      taken: '',
      'never placed': '',
    },
  ],
  [
    'opened again',
    { type: 'Activated' },
    {},
    {
      queued: 'volatile: PlaceWanted false',
      starting: 'volatile: PlaceWanted true, AttemptChanged',
      running: 'volatile: PlaceWanted true, AttemptChanged',
      stopping: 'volatile: PlaceWanted true, StopWork 30, AttemptChanged',
      saving: 'volatile: PlaceWanted true, AttemptChanged',
      unsaved: 'volatile: PlaceWanted true, StopWork 30, AttemptChanged',
      removing: 'volatile: PlaceWanted true, RemoveWork false',
      ended: 'volatile: PlaceWanted true, RemoveWork false',
    },
  ],
  [
    'opened again without an owner',
    { type: 'Activated' },
    { ownerReferences: [] },
    {
      queued: 'Cancelled Released None: PlaceReleased, DeleteSelf',
      starting: 'Provisioning Live Released: StopWork 30, ArmTimer stop 60, DeleteSelf',
      running: 'Running Live Released: StopWork 30, ArmTimer stop 60, DeleteSelf',
      stopping: 'DeleteSelf',
      saving: 'Running Going Released: RemoveWork true, DeleteSelf',
      unsaved: 'Running Going Stopped: RemoveWork true, CancelTimer stop, DeleteSelf',
      removing: 'DeleteSelf',
      ended: 'RemoveWork true, DeleteSelf',
      gone: 'RemoveWork true, DeleteSelf',
      taken: 'RemoveWork true, DeleteSelf',
      'never placed': 'DeleteSelf',
    },
  ],
  [
    'to be stopped by force now',
    fired('stop'),
    {},
    {
      stopping: 'Running Going Stopped: RemoveWork false',
      unsaved: 'Running Going Stopped saving: RemoveWork false',
    },
  ],
  [
    'to be tried again now',
    fired('retry'),
    {},
    {
      queued: 'PlaceWanted false',
      starting: 'PlaceWanted true, AttemptChanged',
      running: 'PlaceWanted true, AttemptChanged',
      stopping: 'PlaceWanted true, StopWork 30, AttemptChanged',
      saving: 'PlaceWanted true, AttemptChanged',
      unsaved: 'PlaceWanted true, StopWork 30, AttemptChanged',
      removing: 'PlaceWanted true, RemoveWork false',
      ended: 'PlaceWanted true, RemoveWork false, AttemptChanged',
      gone: 'AttemptChanged, PlaceReleased',
      taken: 'AttemptChanged, PlaceReleased',
      'never placed': 'AttemptChanged, PlaceReleased',
    },
  ],
  ['woken by a timer that it does not know', fired('other'), {}, {}],
];

for (const [what, message, metadata, expected] of TABLE) {
  test(`an Attempt that is ${what} does what its state asks for, and nothing in any other`, (t) => {
    const found = STATE_NAMES.map((state) => [state, told(attempt(state, metadata), message)] as const);
    t.deepEqual(Object.fromEntries(found.filter(([, done]) => done !== 'Ignored')), expected);
  });
}

test('what is said of another epoch changes nothing, in whichever state', (t) => {
  for (const epoch of [EPOCH - 1, EPOCH + 1]) {
    for (const message of [
      { ...STOP, epoch },
      { ...DROP, epoch, graceSeconds: 0 },
      { type: 'AttemptAsked', epoch },
      { type: 'OutputsTaken', epoch },
      { type: 'AttemptSuperseded', epoch, by: 'one-4' },
    ] as const) {
      for (const state of STATE_NAMES) t.is(told(attempt(state), hear(message)), 'Ignored', `${message.type} ${state}`);
    }
  }
});

test('what is known already costs no commit: why it waits, and by which Attempt it was superseded', (t) => {
  const denied = (reason: string): Message => hear({ ...DENIED, reason, final: false });
  const waiting = decided(attemptKind, attempt('queued'), denied('no memory is free'));
  t.is(told(waiting, denied('no memory is free')), 'Ignored');
  t.is(told(waiting, denied('no disk is free')), 'AttemptChanged');
  const superseded = (by: string): Message => hear({ type: 'AttemptSuperseded', ...OF_EPOCH, by });
  const followed = decided(attemptKind, attempt('taken'), superseded('one-4'));
  t.is((followed.object.status as AttemptStatus).supersededBy, 'one-4');
  t.is(told(followed, superseded('one-4')), 'Ignored');
  t.is(ask(attemptKind, followed, superseded('one-5')).outcome, 'Next');
});

test('an Attempt that is made asks for a place and has none', (t) => {
  t.is(told(attempt('queued'), { type: 'Created' }), 'PlaceWanted false');
});

test('with its place an Attempt begins, at the terms that it was made at, and is billed from then on', (t) => {
  const begun = decided(attemptKind, attempt('queued', { annotations: {} }), hear(GRANT)).object;
  const time = new Date(NOW).toISOString();
  t.like(begun.status, {
    phase: 'Provisioning',
    progress: { stage: 'Starting' },
    placement: {
      ...{
        interruptible: false,
        offering: 'cpu-local',
        rateUSDPerHour: '0.00',
        regionClass: 'local',
        warmReuse: false,
      },
    },
    timings: { acquiredTime: time, billingStartTime: time },
  });
  t.deepEqual(begun.metadata.finalizers, [WORK_FINALIZER]);
});

test('bringing up what replaces lost capacity is charged as Restore, and the service pays it when that is lost as well', (t) => {
  const annotations = {
    ...termsAnnotations('pricebook=2026-01,offering=cpu-local,rate=1,increment=1s,minimum=0.00'),
    ...payerAnnotations({ project: 'a', labels: {}, costs: [] }),
  };
  for (const [more, segment] of [
    [{}, 'Boot'],
    [replacesLost, 'Restore'],
  ] as const) {
    const money = ({ effects }: Next) => effects.flatMap((one) => (one.type === 'Money' ? [one.operation] : []));
    const begun = decided(attemptKind, attempt('queued', { annotations: { ...annotations, ...more } }), hear(GRANT));
    t.deepEqual(money(begun), [], 'no commit but the first and the last carries money');
    const report = { epoch: OF_EPOCH.epoch, time: NOW } as const;
    const lost = decided(attemptKind, begun, {
      type: 'Reported',
      report: { ...report, report: 'Lost', reason: 'NodeLost', message: 'gone' },
    });
    const gone = decided(attemptKind, lost, { type: 'Reported', report: { ...report, report: 'Removed' } });
    t.like(money(gone), [
      { op: 'Bill', segment, from: NOW },
      { op: 'Bill', segment: 'Teardown', from: NOW },
      { op: 'Release', covered: [segment, 'Teardown'] },
    ]);
    const silent = decided(attemptKind, begun, { type: 'Reported', report: { ...report, report: 'Removed' } });
    t.like(
      money(silent),
      [
        { op: 'Bill', segment, from: NOW },
        { op: 'Release', covered: [segment, 'Teardown'] },
      ],
      'work that is gone without a word was lost as well, and is billed before its hold goes',
    );
  }
});

test('the proof that nothing is left bills all of the life of an Attempt: from its place, its start and its end on', (t) => {
  const annotations = {
    ...termsAnnotations('pricebook=2026-01,offering=cpu-local,rate=1,increment=1s,minimum=0.00'),
    ...payerAnnotations({ project: 'a', labels: {}, costs: [] }),
  };
  const money = ({ effects }: Next) => effects.flatMap((one) => (one.type === 'Money' ? [one.operation] : []));
  const after = (ms: number) => ({ epoch: OF_EPOCH.epoch, time: NOW + ms });
  const begun = decided(attemptKind, attempt('queued', { annotations }), hear(GRANT));
  const started = decided(attemptKind, begun, { type: 'Reported', report: { ...after(200), report: 'Started' } });
  const ended = decided(attemptKind, started, {
    type: 'Reported',
    report: { ...after(700), report: 'Exited', exitCode: 0, outOfMemory: false, outputs: [] },
  });
  const gone = decided(attemptKind, ended, { type: 'Reported', report: { ...after(900), report: 'Removed' } });
  t.deepEqual([begun, started, ended].flatMap(money), []);
  t.like(money(gone), [
    { op: 'Bill', segment: 'Boot', from: NOW },
    { op: 'Bill', segment: 'Running', from: NOW + 200 },
    { op: 'Bill', segment: 'Teardown', from: NOW + 700 },
    { op: 'Release', until: NOW + 900, covered: [] },
  ]);
});

test('nothing more comes of an Attempt once it has ended and nothing is left of what it had', (t) => {
  const over = (phase: AttemptStatus['phase'], timings?: AttemptStatus['timings']): boolean =>
    attemptKind.machine.isTerminal?.({ phase, timings }) ?? false;
  const acquiredTime = '2026-01-02T03:04:05Z';
  for (const phase of ['Succeeded', 'Failed', 'Cancelled'] as const) {
    t.true(over(phase), 'it never had a place');
    t.true(over(phase, {}));
    t.false(over(phase, { acquiredTime }), 'something of it may run');
    t.true(over(phase, { acquiredTime, deletionProvenTime: acquiredTime }));
  }
  for (const phase of ['Queued', 'Provisioning', 'Running'] as const) {
    t.false(over(phase));
    t.false(over(phase, { acquiredTime, deletionProvenTime: acquiredTime }));
  }
});

test('an Attempt waits for its place in the turn of the object at the top, so that all cells of a Sweep have one', (t) => {
  const costs = [
    { uid: 'owner-uid', kind: 'Job', project: 'a', name: 'owner' },
    { uid: 'sweep-uid', kind: 'Sweep', project: 'a', name: 'above' },
  ];
  const annotations = payerAnnotations({ project: 'a', labels: {}, costs });
  for (const [metadata, kind, name] of [
    [{ annotations }, 'Sweep', 'above'],
    [{}, 'Job', 'owner'],
  ] as const) {
    const decision = ask(attemptKind, attempt('queued', metadata), { type: 'Activated' });
    const volatile = decision.outcome === 'Volatile' ? decision.volatile : [];
    const wanted = volatile.flatMap((effect) =>
      effect.type === 'Tell' && effect.message.type === 'PlaceWanted' ? [effect.message.owner] : [],
    );
    t.deepEqual(wanted, [{ org: 'o-1', kind, project: 'a', name }]);
  }
});
