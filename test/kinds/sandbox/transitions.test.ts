/** What each message means in each state of a Sandbox, and so of whatever has one Attempt at a time. Pure. */
import test from 'ava';
import type { Message } from '../../../src/kinds/machine.js';
import { NOW } from '../decide.js';
import { changed, CREATE, EPOCH, fails, hear, LOSS, sandbox, STATE_NAMES, TELL, told, type State } from './states.js';

/** By message, what comes of it in each state; in a state that is not named it is Ignored. */
const TABLE: readonly (readonly [string, Message, Partial<Record<State, string>>])[] = [
  [
    'that its Attempt waits, and why',
    hear(changed('Queued', { reason: 'WaitingForCapacity', message: 'no memory is free' })),
    {
      made: 'Pending Made 2:',
    },
  ],
  ['that its Attempt waits, without a reason', hear(changed('Queued')), {}],
  [
    'that its Attempt has a place',
    hear(changed('Provisioning')),
    {
      made: 'Starting Placed 2: ArmTimer stuck 300',
    },
  ],
  [
    'that its Attempt runs',
    hear(changed('Running')),
    {
      made: 'Running Running 2: sandbox.started',
      placed: 'Running Running 2: CancelTimer stuck, sandbox.started',
    },
  ],
  [
    'that its Attempt has not saved yet',
    hear(changed('Running', { unsaved: 'the store is full' })),
    {
      made: 'Stopping Running 2 unsaved: ArmTimer stuck 300',
      placed: 'Stopping Running 2 unsaved:',
      running: 'Stopping Running 2 unsaved: ArmTimer stuck 300',
      unsaved: '',
      stopping: 'Stopping Running 2 stopping unsaved:',
      going: 'Terminating Running 2 stopping unsaved:',
    },
  ],
  [
    'that its command ended well',
    hear(changed('Succeeded', { exitCode: 0 })),
    {
      made: 'Stopping Ended 2 CommandExited: ArmTimer stuck 300',
      placed: 'Stopping Ended 2 CommandExited:',
      running: 'Stopping Ended 2 CommandExited: ArmTimer stuck 300',
      unsaved: 'Stopping Ended 2 unsaved CommandExited:',
      stopping: 'Stopping Ended 2 stopping:',
      going: 'Terminating Ended 2 stopping:',
    },
  ],
  [
    'that its command failed',
    hear(changed('Failed', { reason: 'CustomerExit', exitCode: 1 })),
    {
      made: 'Failed Ended 2 StartupFailed: sandbox.setup_failed',
      placed: 'Failed Ended 2 StartupFailed: CancelTimer stuck, sandbox.setup_failed',
      running: 'Failed Ended 2 CustomerExit: sandbox.stopped',
      unsaved: 'Failed Ended 2 unsaved CustomerExit: CancelTimer stuck, sandbox.stopped',
      stopping: 'Stopping Ended 2 stopping:',
      going: 'Terminating Ended 2 stopping:',
    },
  ],
  [
    'that its command never began',
    hear(changed('Failed', { reason: 'CommandNotFound' })),
    {
      made: 'Failed Ended 2 StartupFailed: sandbox.setup_failed',
      placed: 'Failed Ended 2 StartupFailed: CancelTimer stuck, sandbox.setup_failed',
      running: 'Failed Ended 2 StartupFailed: sandbox.setup_failed',
      unsaved: 'Failed Ended 2 unsaved StartupFailed: CancelTimer stuck, sandbox.setup_failed',
      stopping: 'Stopping Ended 2 stopping:',
      going: 'Terminating Ended 2 stopping:',
    },
  ],
  [
    'that its Attempt was lost',
    hear(changed('Failed', LOSS)),
    {
      made: 'Recovering Ended 2 lost 1 recovering:',
      placed: 'Recovering Ended 2 lost 1 recovering: CancelTimer stuck',
      running: 'Recovering Ended 2 lost 1 recovering:',
      unsaved: 'Recovering Ended 2 unsaved lost 1 recovering: CancelTimer stuck',
      stopping: 'Stopping Ended 2 stopping:',
      going: 'Terminating Ended 2 stopping:',
    },
  ],
  [
    'that its Attempt was stopped from outside',
    hear(changed('Cancelled', { reason: 'Released' })),
    {
      made: 'Recovering Ended 2 lost 1 recovering:',
      placed: 'Recovering Ended 2 lost 1 recovering: CancelTimer stuck',
      running: 'Recovering Ended 2 lost 1 recovering:',
      unsaved: 'Recovering Ended 2 unsaved lost 1 recovering: CancelTimer stuck',
      stopping: 'Stopping Ended 2 stopping:',
      going: 'Terminating Ended 2 stopping:',
    },
  ],
  [
    'that its money is used up',
    hear(changed('Cancelled', { reason: 'Unfunded' })),
    {
      made: 'Stopping Ended 2 BudgetExceeded: sandbox.funding_lost, ArmTimer stuck 300',
      placed: 'Stopping Ended 2 BudgetExceeded: sandbox.funding_lost',
      running: 'Stopping Ended 2 BudgetExceeded: sandbox.funding_lost, ArmTimer stuck 300',
      unsaved: 'Stopping Ended 2 unsaved BudgetExceeded: sandbox.funding_lost',
      stopping: 'Stopping Ended 2 stopping:',
      going: 'Terminating Ended 2 stopping:',
    },
  ],
  [
    'that it has cost what it may',
    hear(changed('Cancelled', { reason: 'MaxCostReached' })),
    {
      made: 'Stopping Ended 2 MaxCostReached: sandbox.max_cost_reached, ArmTimer stuck 300',
      placed: 'Stopping Ended 2 MaxCostReached: sandbox.max_cost_reached',
      running: 'Stopping Ended 2 MaxCostReached: sandbox.max_cost_reached, ArmTimer stuck 300',
      unsaved: 'Stopping Ended 2 unsaved MaxCostReached: sandbox.max_cost_reached',
      stopping: 'Stopping Ended 2 stopping:',
      going: 'Terminating Ended 2 stopping:',
    },
  ],
  [
    'that its Attempt ended and nothing is left of it',
    hear(changed('Cancelled', { reason: 'Stopped', gone: true })),
    {
      made: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded',
      placed: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded, CancelTimer stuck',
      running: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded',
      unsaved: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded, CancelTimer stuck',
      stopping: 'Stopped: CancelTimer stuck, sandbox.stopped',
      ended: 'Stopped: CancelTimer stuck, sandbox.stopped',
      recovering: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded',
      going: 'Terminating:',
    },
  ],
  [
    'that its Attempt was deleted',
    hear({ type: 'ChildGone', uid: 'a', kind: 'Attempt' }),
    {
      made: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded',
      placed: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded, CancelTimer stuck',
      running: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded',
      unsaved: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded, CancelTimer stuck',
      stopping: 'Stopped: CancelTimer stuck, sandbox.stopped',
      ended: 'Stopped: CancelTimer stuck, sandbox.stopped',
      recovering: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded',
      going: 'Terminating:',
    },
  ],
  [
    'that a client is at work in it',
    hear({ type: 'ActivitySeen', epoch: EPOCH, at: NOW, busy: true }),
    {
      running: '',
      unsaved: '',
    },
  ],
  [
    'which Secrets its Attempt has',
    hear({ type: 'SecretsPinned', epoch: EPOCH, versions: {} }),
    {
      made: '',
      placed: '',
      running: '',
      unsaved: '',
      stopping: '',
      ended: '',
      recovering: '',
      going: '',
    },
  ],
  [
    'that it is opened again',
    { type: 'Activated' },
    {
      made: 'CreateChild, AttemptAsked',
      placed: 'AttemptAsked',
      running: 'AttemptAsked',
      unsaved: 'AttemptAsked',
      stopping: 'StopAttempt',
      ended: 'AttemptAsked',
      recovering: 'AttemptAsked',
      paused: 'ArmTimer start 2',
      failed: '',
      stopped: '',
      going: 'DropAttempt 0, AttemptAsked',
    },
  ],
  [
    'that its Attempt was refused',
    fails(CREATE, 'Forbidden'),
    {
      made: 'Failed Forbidden: sandbox.stopped',
      placed: 'Failed Forbidden: CancelTimer stuck, sandbox.stopped',
      running: 'Failed Forbidden: sandbox.stopped',
      unsaved: 'Failed Forbidden: CancelTimer stuck, sandbox.stopped',
      stopping: 'Failed Forbidden: CancelTimer stuck, sandbox.stopped',
      ended: 'Failed Forbidden: CancelTimer stuck, sandbox.stopped',
      recovering: 'Failed lost 1 Forbidden: sandbox.stopped',
      going: 'Terminating Forbidden:',
    },
  ],
  [
    'that its Attempt could not be made yet',
    fails(CREATE, 'Unavailable'),
    {
      made: 'ArmTimer resync 10',
      placed: 'ArmTimer resync 10',
      running: 'ArmTimer resync 10',
      unsaved: 'ArmTimer resync 10',
      stopping: 'ArmTimer resync 10',
      ended: 'ArmTimer resync 10',
      recovering: 'ArmTimer resync 10',
      going: '',
    },
  ],
  [
    'that there is no money for its Attempt',
    fails(CREATE, 'InsufficientCredits'),
    {
      made: 'Stopped InsufficientCredits: sandbox.funding_lost, sandbox.stopped',
      placed: 'Stopped InsufficientCredits: sandbox.funding_lost, CancelTimer stuck, sandbox.stopped',
      running: 'Stopped InsufficientCredits: sandbox.funding_lost, sandbox.stopped',
      unsaved: 'Stopped InsufficientCredits: sandbox.funding_lost, CancelTimer stuck, sandbox.stopped',
      stopping: 'Stopped InsufficientCredits: sandbox.funding_lost, CancelTimer stuck, sandbox.stopped',
      ended: 'Stopped InsufficientCredits: sandbox.funding_lost, CancelTimer stuck, sandbox.stopped',
      recovering: 'Stopped InsufficientCredits: sandbox.funding_lost, sandbox.stopped',
      going: 'Terminating InsufficientCredits: sandbox.funding_lost',
    },
  ],
  [
    'that its Attempt is not there',
    fails(TELL, 'NotFound'),
    {
      made: 'ArmTimer resync 10',
      placed: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded, CancelTimer stuck',
      running: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded',
      unsaved: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded, CancelTimer stuck',
      stopping: 'Stopped: CancelTimer stuck, sandbox.stopped',
      ended: 'Stopped: CancelTimer stuck, sandbox.stopped',
      recovering: 'Recovering Made 3 unheard lost 1 recovering: CreateChild, AttemptSuperseded',
      going: 'Terminating:',
    },
  ],
  [
    'that its Attempt is out of reach',
    fails(TELL, 'RetriesExhausted'),
    {
      made: 'ArmTimer resync 10',
      placed: 'ArmTimer resync 10',
      running: 'ArmTimer resync 10',
      unsaved: 'ArmTimer resync 10',
      stopping: 'ArmTimer resync 10',
      ended: 'ArmTimer resync 10',
      recovering: 'ArmTimer resync 10',
      going: '',
    },
  ],
  [
    'that its Attempt could not be deleted',
    fails({ ...CREATE, type: 'DeleteChild' }, 'Unavailable'),
    {
      made: 'ArmTimer resync 10',
      placed: 'ArmTimer resync 10',
      running: 'ArmTimer resync 10',
      unsaved: 'ArmTimer resync 10',
      stopping: 'ArmTimer resync 10',
      ended: 'ArmTimer resync 10',
      recovering: 'ArmTimer resync 10',
      going: '',
    },
  ],
  ['what is said to a Node', hear({ type: 'PlaceReleased' }), {}],
  ['of an effect that does not concern its Attempt', fails({ type: 'StartWork' }, 'Unavailable'), {}],
];

for (const [what, message, expected] of TABLE) {
  test(`a Sandbox that hears ${what} does what its state asks for, and nothing in any other`, (t) => {
    const found = STATE_NAMES.map((state) => [state, told(sandbox(state), message)] as const);
    t.deepEqual(Object.fromEntries(found.filter(([, done]) => done !== 'Ignored')), expected);
  });
}

test('what is said of the Attempt of another epoch changes nothing, in whichever state', (t) => {
  for (const epoch of [EPOCH - 1, EPOCH + 1]) {
    for (const message of [
      changed('Queued', { epoch, reason: 'WaitingForCapacity', message: 'no memory is free' }),
      changed('Running', { epoch }),
      changed('Running', { epoch, unsaved: 'the store is full' }),
      changed('Failed', { epoch, ...LOSS }),
      changed('Failed', { epoch, gone: true }),
      { type: 'SecretsPinned', epoch, versions: {} },
      { type: 'ActivitySeen', epoch, at: NOW, busy: true },
    ] as const) {
      for (const state of STATE_NAMES) t.is(told(sandbox(state), hear(message)), 'Ignored', `${message.type} ${state}`);
    }
  }
});

test('messages that may be lost are said again when the time has come, as if the Sandbox were opened again', (t) => {
  for (const state of STATE_NAMES) {
    const words = (message: Message): string =>
      told(sandbox(state), message).replace(/^volatile: |ArmTimer resync 120, /, '');
    t.is(words({ type: 'TimerFired', timer: 'resync', generation: 1 }), words({ type: 'Activated' }), state);
    t.false(told(sandbox(state), { type: 'TimerFired', timer: 'idle', generation: 1 }).includes('AttemptAsked'), state);
  }
});
