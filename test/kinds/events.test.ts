/** Event types: those of the spec are all there, each is spelled as its reason, and machines raise no others. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { emit } from '../../src/kinds/events/emit.js';
import { EVENT_TABLE } from '../../src/kinds/events/table.js';

/** As the spec lists them ("Event types"). */
const OF_THE_SPEC =
  'job.succeeded job.failed job.cancelled agentrun.failed job.preempted job.node_lost job.restored job.checkpointed ' +
  'job.checkpoint_failed job.max_cost_reached job.funding_lost job.funding_restored job.output_sink_failed ' +
  'job.gang_restarted job.network_degraded sandbox.started sandbox.stopped sandbox.stuck sandbox.setup_failed ' +
  'sandbox.max_cost_reached sandbox.funding_lost sandbox.funding_restored agentrun.needs_resolution ' +
  'billing.low_balance billing.auto_recharge_succeeded billing.auto_recharge_failed billing.arrears_posted ' +
  'billing.dispute_opened billing.dispute_closed billing.storage_quota_exceeded billing.egress_quota_exceeded ' +
  'budget.threshold budget.exceeded topup.succeeded topup.failed topup.refunded pool.node_offline ' +
  'pool.forecast_shortfall pool.action_proposed webhookendpoint.ping webhookendpoint.deliveries_failing';

test('every event type of the spec is registered', (t) => {
  const types = new Set<string>(EVENT_TABLE.keys());
  for (const type of OF_THE_SPEC.split(' ')) t.true(types.has(type), type);
});

test('a type is its kind and its reason, in lower case with underscores', (t) => {
  for (const [type, { reason, kind, when }] of EVENT_TABLE) {
    const prefix = kind === 'Wallet' ? 'billing' : kind.toLowerCase();
    const word = reason.replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
    t.is<string, string>(type, `${prefix}.${word}`);
    t.regex(when, /\.$/);
  }
});

test('an event is raised with the reason of its type', (t) => {
  t.deepEqual(emit('job.node_lost', 'index 3'), {
    type: 'Emit',
    event: 'job.node_lost',
    reason: 'NodeLost',
    message: 'index 3',
  });
});

function sources(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? sources(path) : path.endsWith('.ts') ? [path] : [];
  });
}

test('what machines raise is in the table, with its reason', (t) => {
  const reasons = new Map<string, string>([...EVENT_TABLE].map(([type, { reason }]) => [type, reason]));
  for (const file of sources(join('src', 'kinds')).filter((path) => !path.endsWith(join('events', 'emit.ts')))) {
    const text = readFileSync(file, 'utf8');
    const spelled = [...text.matchAll(/type: 'Emit',\s*event: '([^']+)',\s*reason: '([^']+)'/g)];
    t.is([...text.matchAll(/type: 'Emit',/g)].length, spelled.length, `${file}: use emit()`);
    for (const [, event = '', reason = ''] of spelled) t.is(reasons.get(event), reason, `${file}: ${event}`);
  }
});
