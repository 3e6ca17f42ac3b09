/** Both sides of every rule of App. */
import test from 'ava';
import { appKind } from '../../../src/kinds/app/index.js';
import { objectOf } from '../decide.js';
import { many, names } from './samples.js';
import { holdRules, type Change, type Limit } from './table.js';

const daily = { name: 'daily', cron: '@daily', function: 'quote' };

function scheduled(...schedules: object[]): Change[] {
  return [
    ['spec.functions', ['quote']],
    ['spec.schedules', schedules],
  ];
}

function schedule(rule: string, good: object, bad: object, field: string): Limit {
  return {
    rule,
    within: scheduled({ ...daily, ...good }),
    beyond: scheduled({ ...daily, ...bad }),
    field: `spec.schedules[0].${field}`,
  };
}

const cron = (good: string, bad: string): Limit =>
  schedule(`${good}, and not ${bad}`, { cron: good }, { cron: bad }, 'cron');

holdRules(test, {
  kind: appKind,
  least: {},
  defaults: [],
  limits: [
    {
      rule: 'at most 256 Functions',
      within: [['spec.functions', names(256)]],
      beyond: [['spec.functions', names(257)]],
    },
    {
      rule: 'a Function stands there once',
      within: [['spec.functions', ['a', 'b']]],
      beyond: [['spec.functions', ['a', 'a']]],
      field: 'spec.functions[1]',
    },
    {
      rule: 'a Function has a possible name',
      within: [['spec.functions', ['a']]],
      beyond: [['spec.functions', ['A']]],
      field: 'spec.functions[0]',
    },
    {
      rule: 'at most 256 schedules',
      within: scheduled(...many(256, (index) => ({ ...daily, name: `n${index}` }))),
      beyond: scheduled(...many(257, (index) => ({ ...daily, name: `n${index}` }))),
      field: 'spec.schedules',
    },
    {
      rule: 'schedules have different names',
      within: scheduled(daily, { ...daily, name: 'again' }),
      beyond: scheduled(daily, daily),
      field: 'spec.schedules[1].name',
    },
    schedule('a schedule calls a Function of the App', {}, { function: 'other' }, 'function'),
    schedule('a schedule calls something', {}, { function: undefined }, 'function'),
    schedule('a schedule has a label for a name', { name: 'a-1' }, { name: 'a.1' }, 'name'),
    schedule('a time zone that there is', { timeZone: 'Europe/Vienna' }, { timeZone: 'Europe/Atlantis' }, 'timeZone'),
    schedule('a time zone with a name', { timeZone: 'UTC' }, { timeZone: '+01:00' }, 'timeZone'),
    cron('@weekly', '@fortnightly'),
    cron('* * * * *', '* * * *'),
    cron('0 9 * * 1-5', '0 9 * * 1-5 *'),
    cron('59 23 31 12 7', '60 23 31 12 7'),
    cron('0 0 1 1 0', '0 24 1 1 0'),
    cron('0 0 31 1 *', '0 0 32 1 *'),
    cron('0 0 1 jan *', '0 0 0 jan *'),
    cron('0 0 1 12 *', '0 0 1 13 *'),
    cron('0 0 * * sun', '0 0 * * 8'),
    cron('*/15 * * * *', '*/0 * * * *'),
    cron('0-30/2,45 * * * *', '30-0 * * * *'),
    cron('5 * * * *', '5/10 * * * *'),
    { rule: 'a version is not empty', within: [['spec.version', 'v1']], beyond: [['spec.version', '']] },
    {
      rule: 'a version of 128',
      within: [['spec.version', 'a'.repeat(128)]],
      beyond: [['spec.version', 'a'.repeat(129)]],
    },
    {
      rule: 'a description of 1024',
      within: [['spec.description', 'a'.repeat(1024)]],
      beyond: [['spec.description', 'a'.repeat(1025)]],
    },
  ],
  immutable: [],
  mutable: [
    ['spec.description', 'a', 'b'],
    ['spec.functions', ['a'], ['b']],
    ['spec.schedules', [], undefined],
    ['spec.version', 'a', 'b'],
  ],
  raiseOnly: [],
});

test('App: its Functions are looked for, each by the path of its field', (t) => {
  t.deepEqual(appKind.references?.(objectOf(appKind, { functions: ['a', 'b'] })), [
    { field: 'spec.functions[0]', kind: 'Function', name: 'a', reason: 'FunctionNotFound' },
    { field: 'spec.functions[1]', kind: 'Function', name: 'b', reason: 'FunctionNotFound' },
  ]);
});
