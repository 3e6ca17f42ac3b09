/** The schemas of what routes beside the kinds answer: events, operators' views, health. Pure. */
import type { Node } from './schema.js';

type Fields = Readonly<Record<string, Node>>;

const text = (description: string): Node => ({ type: 'string', description });
const time = (description: string): Node => ({ type: 'string', format: 'date-time', description });
const count = (description: string): Node => ({ type: 'integer', format: 'int64', minimum: 0, description });
const flag = (description: string): Node => ({ type: 'boolean', description });

/** An object in which everything but `optional` is always there. */
function record(description: string, fields: Fields, optional: readonly string[] = []): Node {
  const required = Object.keys(fields).filter((name) => !optional.includes(name));
  return { type: 'object', description, ...(required.length === 0 ? {} : { required }), properties: fields };
}

const ADDRESS = record('The object.', {
  org: text('Its org.'),
  kind: text('Its kind.'),
  project: text('Its project; empty at org level.'),
  name: text('Its name.'),
});

export const EVENT: Node = record(
  'Something that happened to an object. A repeat raises the count of the one that is there and moves it to the end.',
  {
    id: text('Names the event.'),
    type: { ...text('What happened.'), example: 'job.failed' },
    reason: text('Why, as one word.'),
    message: text('What happened, for people.'),
    count: { ...count('How often it has happened.'), minimum: 1 },
    firstTime: time('When it happened first.'),
    lastTime: time('When it happened last.'),
    object: record(
      'The object that it happened to.',
      {
        kind: text('Its kind.'),
        name: text('Its name.'),
        uid: text('Its uid.'),
        namespace: text('Its project; absent at org level.'),
      },
      ['namespace'],
    ),
  },
);

export const SUPERVISOR: Node = record(
  'The actors of one kind.',
  {
    kind: text('The kind.'),
    actors: count('Actors in memory.'),
    mailboxDepth: count('Messages that wait for them.'),
    oldestMs: { type: 'number', description: 'Age of the oldest message that waits or is in hand, in milliseconds.' },
    restarts: count('Restarts after crashes.'),
    parked: count('Objects whose actor has crashed too often and waits for an operator.'),
    lastCrash: record('The last crash.', {
      time: { type: 'number', description: 'Milliseconds since 1970.' },
      errorClass: text('Class of the error.'),
      name: text('Name of the object.'),
    }),
  },
  ['lastCrash'],
);

export const ACTOR: Node = record(
  'The actor of one object.',
  {
    address: ADDRESS,
    live: flag('Whether it is in memory.'),
    busy: flag('Whether it works on a message.'),
    mailboxDepth: count('Messages that wait for it.'),
    oldestMs: { type: 'number', description: 'Age of the oldest message that waits or is in hand, in milliseconds.' },
    restarts: count('Restarts after crashes.'),
    parked: flag('Whether it has crashed too often and waits for an operator.'),
    errorClass: text('Class of the error of the last crash.'),
  },
  ['errorClass'],
);

export const PARKED: Node = record('An object whose actor waits for an operator.', {
  address: ADDRESS,
  restarts: count('Restarts after crashes.'),
  errorClass: text('Class of the error of the last crash.'),
  time: { type: 'number', description: 'When it crashed last, in milliseconds since 1970.' },
});

export const ORG: Node = record('An org.', {
  org: text('Its id.'),
  name: text('Its name.'),
  creationTimestamp: time('When it was made.'),
});

export const NEW_ORG: Node = record('An org that has just been made.', {
  org: text('Its id.'),
  name: text('Its name.'),
  key: text('The key of its Owner. It is shown this once.'),
});

export const ADMISSIONS: Node = record('Whether new work is let in.', { paused: flag('True: it is not.') });

export const LEDGER_MONTH: Node = record('A month of posting, in UTC.', {
  month: text('Such as 2026-08.'),
  state: {
    ...text(
      'Open: it is not over, or has a posting that does not add up. Detached: its postings are not kept here any more.',
    ),
    'x-known-values': ['Open', 'Closed', 'Detached'],
  },
  postings: count('Postings of all orgs; absent: it is open.'),
  lines: count('Their lines of double entry.'),
  closedTime: time('When it was closed.'),
  sha256: text('Of its last whole export, the last line left out.'),
  exportedTime: time('When that was.'),
  detachedTime: time('When its postings went.'),
});

export const LEDGER_AUDIT: Node = record(
  'The auditor of the ledger: it rebuilds from postings, lines and holds what else is stored of money, and says where that differs.',
  {
    running: flag('Whether a pass is under way.'),
    lastPass: record('The last whole pass; absent: none since this process became the active one.', {
      startTime: time('When it began.'),
      endTime: time('When it had ended.'),
      orgs: count('Orgs that it went over.'),
      lines: count('Lines of double entry that it went over.'),
      unread: count('Orgs whose ledger could not be read.'),
      findings: count('Things that differ.'),
    }),
    findings: {
      type: 'array',
      description: 'Of that pass, the first 100.',
      items: {
        ...record('Something that differs. What else it says depends on its type.', {
          org: text('Id of the org.'),
          type: {
            ...text('What differs.'),
            'x-known-values': [
              ...['UnbalancedPosting', 'CounterDiffers', 'GrantDiffers', 'WalletDiffers', 'HoldDiffers', 'OrphanHold'],
            ],
          },
        }),
        additionalProperties: true,
      },
    },
  },
  ['lastPass'],
);

/** What a restart answers; `names` is `kind` or `uid`. */
export function restarted(names: 'kind' | 'uid'): Node {
  return record('What was restarted.', { [names]: text('As it was asked for.'), restarted: flag('True.') });
}

export const READINESS: Node = {
  ...record('Whether requests may be sent here.', {
    ready: flag('Whether they may.'),
    missing: { type: 'array', items: text('One thing.'), description: 'What they wait for.' },
    behind: { type: 'array', items: text('One thing.'), description: 'What waits for longer than it should.' },
  }),
  additionalProperties: true,
};

export const VERSION: Node = record('The program, in the words that kubectl knows.', {
  ...Object.fromEntries(
    ['major', 'minor', 'gitVersion', 'gitCommit', 'gitTreeState', 'buildDate', 'goVersion', 'compiler', 'platform'].map(
      (name) => [name, text(name)],
    ),
  ),
});
