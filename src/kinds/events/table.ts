/**
 * The list of all event types: what each tells of, and the kind that raises it. A type is `<kind>.<reason>` in lower
 * case with underscores, and its reason is the same word in camel case; billing events begin with `billing`. Types of
 * kinds that are not built yet are in it too: receivers may ask for them already. Source: spec, "Event types".
 */

/** Kinds that run to an end. */
const RUNS = ['Job', 'Sweep', 'Pipeline', 'AgentRun', 'AgentGroup', 'TrainingJob', 'FunctionCall'] as const;

/** Kinds with a cost that may reach a cap or lose its funding. */
const COSTLY = [
  'Job',
  'Sweep',
  'Pipeline',
  'AgentRun',
  'AgentGroup',
  'TrainingJob',
  'Sandbox',
  'Workspace',
  'Function',
  'InferenceEndpoint',
  'Volume',
] as const;

const ENDS = {
  succeeded: ['Succeeded', 'It has done what it was to do.'],
  failed: ['Failed', 'It has failed for good; the message says why.'],
  cancelled: ['Cancelled', 'It was stopped for good.'],
} as const;

const FUNDING = {
  max_cost_reached: ['MaxCostReached', 'It has reached its maxCostUSD and was stopped.'],
  funding_lost: ['FundingLost', 'It was stopped, or waits, since the balance or a Budget has too little left for it.'],
  funding_restored: ['FundingRestored', 'There is money for it again, and it goes on.'],
} as const;

/** Type: reason, kind, when. */
const SINGLE = {
  'job.attempt_failed': ['AttemptFailed', 'Job', 'An Attempt has failed, and its index is tried again.'],
  'job.preempted': ['Preempted', 'Job', 'Capacity was taken away; the work is replaced.'],
  'job.node_lost': ['NodeLost', 'Job', 'A machine was lost; the work is replaced.'],
  'job.restored': ['Restored', 'Job', 'Replaced work runs again, from the last checkpoint if there is one.'],
  'job.checkpointed': ['Checkpointed', 'Job', 'A checkpoint was saved.'],
  'job.checkpoint_failed': ['CheckpointFailed', 'Job', 'A checkpoint could not be saved.'],
  'job.output_sink_failed': ['OutputSinkFailed', 'Job', 'An output could not be loaded into its destination.'],
  'job.gang_restarted': ['GangRestarted', 'Job', 'All members of a gang were started again.'],
  'job.network_degraded': ['NetworkDegraded', 'Job', 'The network between members of a gang has become worse.'],
  'sandbox.started': ['Started', 'Sandbox', 'It runs.'],
  'sandbox.stopped': ['Stopped', 'Sandbox', 'It has stopped.'],
  'sandbox.stuck': ['Stuck', 'Sandbox', 'It neither starts nor stops.'],
  'sandbox.setup_failed': ['SetupFailed', 'Sandbox', 'It could not be set up.'],
  'agentrun.needs_resolution': ['NeedsResolution', 'AgentRun', 'Somebody has to say what became of a step.'],
  'billing.low_balance': ['LowBalance', 'Wallet', 'The available balance is below the warning level.'],
  'billing.auto_recharge_succeeded': ['AutoRechargeSucceeded', 'Wallet', 'Credits were added by automatic recharge.'],
  'billing.auto_recharge_failed': ['AutoRechargeFailed', 'Wallet', 'The charge of an automatic recharge failed.'],
  'billing.arrears_posted': [
    'ArrearsPosted',
    'Wallet',
    'A charge exceeded the balance; new work waits until it is paid.',
  ],
  'billing.dispute_opened': ['DisputeOpened', 'Wallet', 'A payment is disputed; new work is paused.'],
  'billing.dispute_closed': ['DisputeClosed', 'Wallet', 'The dispute is over.'],
  'billing.storage_quota_exceeded': ['StorageQuotaExceeded', 'Wallet', 'The org holds as many bytes as it may.'],
  'billing.egress_quota_exceeded': ['EgressQuotaExceeded', 'Wallet', 'The org has sent as many bytes as it may.'],
  'budget.threshold': ['Threshold', 'Budget', 'A threshold of the limit was crossed.'],
  'budget.exceeded': ['Exceeded', 'Budget', 'New work was refused, since the limit is reached.'],
  'topup.succeeded': ['Succeeded', 'TopUp', 'It was paid and credited.'],
  'topup.failed': ['Failed', 'TopUp', 'The checkout expired or the payment failed.'],
  'topup.refunded': ['Refunded', 'TopUp', 'It was paid back.'],
  'pool.node_offline': ['NodeOffline', 'Pool', 'A Node of the Pool is not heard of.'],
  'pool.forecast_shortfall': ['ForecastShortfall', 'Pool', 'Capacity is expected to be short.'],
  'pool.action_proposed': ['ActionProposed', 'Pool', 'The automation proposes an action.'],
  'webhookendpoint.ping': ['Ping', 'WebhookEndpoint', 'Sent once, right after its create.'],
  'webhookendpoint.deliveries_failing': ['DeliveriesFailing', 'WebhookEndpoint', 'Every recent delivery failed.'],
} as const;

type Run = Lowercase<(typeof RUNS)[number]>;
type Costly = Lowercase<(typeof COSTLY)[number]>;

export type EventType = `${Run}.${keyof typeof ENDS}` | `${Costly}.${keyof typeof FUNDING}` | keyof typeof SINGLE;

export interface EventEntry {
  readonly type: EventType;
  /** In camel case: what `event.reason` says. */
  readonly reason: string;
  /** Kind of the objects that raise it; `Wallet`, which is no kind, for billing. */
  readonly kind: string;
  /** Plain sentence. */
  readonly when: string;
}

function family(kinds: readonly string[], reasons: Readonly<Record<string, readonly [string, string]>>): EventEntry[] {
  return kinds.flatMap((kind) =>
    Object.entries(reasons).map(([word, [reason, when]]) => {
      // One spelling of each kind makes exactly the types of the union.
      const type = `${kind.toLowerCase()}.${word}` as EventType;
      return { type, reason, kind, when };
    }),
  );
}

const ENTRIES: readonly EventEntry[] = [
  ...family(RUNS, ENDS),
  ...family(COSTLY, FUNDING),
  ...Object.entries(SINGLE).map(([type, [reason, kind, when]]) => ({ type: type as EventType, reason, kind, when })),
];

/** Whoever sees it may have to do something: Kubernetes' type Warning. All others are Normal. */
const WARNINGS = new Set([
  ...['failed', 'max_cost_reached', 'funding_lost', 'attempt_failed', 'preempted', 'node_lost', 'checkpoint_failed'],
  ...['output_sink_failed', 'gang_restarted', 'network_degraded', 'stuck', 'setup_failed', 'needs_resolution'],
  ...['low_balance', 'auto_recharge_failed', 'arrears_posted', 'dispute_opened', 'storage_quota_exceeded'],
  ...['egress_quota_exceeded', 'threshold', 'exceeded', 'node_offline', 'forecast_shortfall', 'deliveries_failing'],
]);

/** Also of a type that an older or newer program has written. */
export function isWarning(type: string): boolean {
  return WARNINGS.has(type.slice(type.indexOf('.') + 1));
}

export const EVENT_TABLE: ReadonlyMap<EventType, EventEntry> = new Map(ENTRIES.map((entry) => [entry.type, entry]));
