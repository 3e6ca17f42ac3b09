/**
 * A plain ledger, for comparison: whole billionths of a USD in BigInt, one operation at a time, everything added up anew for each question.
 * It shares no arithmetic with `src/money`. How much a renewal takes is the book's choice; the model checks that it may.
 */
import type { Posting } from '../../src/money/book.js';
import type { Hold, Segment } from '../../src/money/hold.js';
import type { ModelUse, MoneyOperation, OperationResult } from '../../src/money/operation.js';
import { ceilDiv, isMonthly, max, min, month, monthEnd, nano, uidOf, up } from './billionths.js';
import type { Budget, ModelHold, Place } from './model-hold.js';

const HOUR = 3_600_000n;
/** What only the book knows. */
export interface Found {
  /** The operation's hold as the book has it afterwards. */
  readonly hold?: Hold | undefined;
  /** The use that is corrected. */
  readonly posting?: Posting | undefined;
}

export interface Model {
  /** Carries it out and answers what is wrong with the book's answer; undefined: nothing. */
  apply(operation: MoneyOperation, now: number, answer: OperationResult, found: Found): string | undefined;
  /** Answers what takes back everything since. */
  mark(): () => void;
  spent(counter: string): bigint;
  held(counter: string): bigint;
  counters(): readonly string[];
  balance(): bigint;
  /** Of requests to models through an InferenceEndpoint: how many, how many without a charge, tokens in and out, cost. */
  use(uid: string): readonly bigint[];
  endpoints(): readonly string[];
}

export function openModel(): Model {
  let budgets = new Map<string, Budget>();
  let caps = new Map<string, bigint>();
  let spentOn = new Map<string, bigint>();
  let holds = new Map<string, ModelHold>();
  let uses: { project: string; team: string | undefined; month: string; amount: bigint }[] = [];
  let modelUse = new Map<string, readonly bigint[]>();
  let once = new Set<string>();
  let grants: { uid: string; left: bigint; expires: number }[] = [];
  let wallet = 0n;
  let prepaid = false;
  let disputed = false;
  let modeChanges = 0;
  /** By the key of what they correct. */
  let corrections = new Map<string, bigint>();

  const spent = (counter: string): bigint => spentOn.get(counter) ?? 0n;
  const held = (counter: string): bigint =>
    [...holds.values()].reduce((sum, h) => sum + (h.parts.get(counter) ?? 0n), 0n);
  const balance = (): bigint => grants.reduce((sum, { left }) => sum + left, 0n) + wallet;
  const free = (counter: string): bigint | undefined => {
    if (counter === 'wallet') return prepaid ? balance() - held('wallet') : undefined;
    const [of, uid = ''] = counter.split('/');
    const limit = of === 'cost' ? caps.get(uid) : budgetLimit(uid);
    return limit === undefined ? undefined : limit - spent(counter) - held(counter);
  };
  const budgetLimit = (uid: string): bigint | undefined => {
    const budget = budgets.get(uid);
    return budget?.action === 'Block' ? nano(budget.limitUSD) : undefined;
  };
  const covers = (budget: Pick<Budget, 'project' | 'selector'>, project: string, team: string | undefined): boolean =>
    (budget.project ?? project) === project && (budget.selector ?? `team=${team}`) === `team=${team}`;
  const binding = ({ payer }: Place, at: number): string[] => [
    ...payer.costs.map(({ uid }) => `cost/${uid}`),
    ...[...budgets.values()]
      .filter((budget) => covers(budget, payer.project, payer.labels['team']))
      .map(({ uid, period }) => `budget/${uid}/${period === 'Total' ? 'total' : month(at)}`),
    'wallet',
  ];
  /** Budgets of which a hold has no part, as they were made since. */
  const lateFor = (hold: ModelHold): Budget[] => {
    const has = new Set([...hold.parts.keys()].filter((name) => name.startsWith('budget/')).map(uidOf));
    const { project, labels } = hold.place.payer;
    return [...budgets.values()].filter((budget) => !has.has(budget.uid) && covers(budget, project, labels['team']));
  };
  const lateCounters = (late: readonly Budget[], at: number): string[] =>
    late
      .filter(({ period, made }) => (period === 'Total' ? at >= made : month(at) >= month(made)))
      .map(({ uid, period }) => `budget/${uid}/${period === 'Total' ? 'total' : month(at)}`);
  /** Where else this use of a month counts: it was there when these were made in that month. */
  const openings = (counters: readonly string[], project: string, team: string | undefined, at: string): string[] =>
    [...budgets.values()]
      .filter((budget) => budget.period === 'Monthly' && month(budget.made) === at && covers(budget, project, team))
      .map(({ uid }) => `budget/${uid}/${at}`)
      .filter((counter) => !counters.includes(counter));
  const reserve = (hold: Pick<ModelHold, 'place' | 'billing'>): bigint =>
    ceilDiv(
      max(nano(hold.place.terms.rateUSDPerHour), hold.billing?.rate ?? 0n) * BigInt(hold.place.terms.reserveMs),
      HOUR,
    );
  const need = (hold: ModelHold, units: number): bigint => {
    const { terms } = hold.place;
    const rate = hold.billing?.rate ?? nano(terms.rateUSDPerHour);
    const ahead = up(hold.billedMs + BigInt(units * terms.unitMs), terms.incrementMs) - hold.billedMs;
    return max(ceilDiv(hold.accrued + rate * ahead, HOUR), nano(terms.minimumUSD)) - hold.settled + reserve(hold);
  };
  const split = (hold: Pick<ModelHold, 'place' | 'billing'>, amount: bigint, now: number): Map<string, bigint> => {
    const end = monthEnd(now);
    const parts = new Map(binding(hold.place, now).map((counter) => [counter, amount]));
    const next = (share: bigint): void => {
      for (const counter of binding(hold.place, end)) if (isMonthly(counter)) parts.set(counter, share);
    };
    if (hold.billing === undefined) {
      if (now + 2 * hold.place.terms.unitMs >= end) next(amount);
      return parts;
    }
    const before = ceilDiv(hold.billing.rate * BigInt(end - now), HOUR);
    if (hold.billing.rate === 0n || amount <= before) return parts;
    for (const counter of parts.keys()) if (isMonthly(counter)) parts.set(counter, before);
    next(amount - before);
    return parts;
  };
  const countersIn = (parts: ReadonlyMap<string, bigint>, at: string): string[] => {
    const names = [...parts.keys()].map((name) => (isMonthly(name) ? name.slice(0, -7) + at : name));
    return [...new Set(names)];
  };

  function expire(now: number): void {
    for (const grant of grants.toSorted((a, b) => a.expires - b.expires || (a.uid < b.uid ? -1 : 1))) {
      if (grant.expires > now) continue;
      grant.left -= prepaid ? max(0n, min(grant.left, balance() - held('wallet'))) : grant.left;
    }
  }
  function pay(amount: bigint, paid: boolean): void {
    if (!paid) return;
    if (amount < 0n) {
      wallet -= amount;
      return;
    }
    takeCredits(amount);
  }
  function takeCredits(amount: bigint, first?: string): void {
    let left = amount;
    const soonest = grants.toSorted((a, b) => a.expires - b.expires || (a.uid < b.uid ? -1 : 1));
    const isFirst = ({ uid }: { uid: string }): boolean => uid === first;
    for (const grant of [...soonest.filter(isFirst), ...soonest.filter((one) => !isFirst(one))]) {
      const taken = min(left, grant.left);
      grant.left -= taken;
      left -= taken;
    }
    wallet -= left;
  }
  function count(
    hold: ModelHold,
    counters: string[],
    segment: Segment,
    at: string,
    amount: bigint,
    paid: boolean,
  ): void {
    spend(hold, counters, at, amount, paid);
    hold.charges.push({ segment, month: at, amount, counters, paid });
  }
  function spend(hold: ModelHold, counters: string[], at: string, amount: bigint, paid: boolean): void {
    for (const counter of counters) spentOn.set(counter, spent(counter) + amount);
    uses.push({ project: hold.place.payer.project, team: hold.place.payer.labels['team'], month: at, amount });
    pay(amount, paid);
  }
  function settle(hold: ModelHold, segment: Segment, used: number, byService: readonly Segment[]): void {
    const due = (hold.accrued * 2n + HOUR) / (2n * HOUR) - hold.settled;
    if (due <= 0n) return;
    const at = month(used);
    const own = countersIn(hold.parts, at);
    const counters = [...own, ...lateCounters(lateFor(hold), used)];
    const has = own.reduce((least, counter) => min(least, hold.parts.get(counter) ?? 0n), due);
    const amount = byService.includes(segment) ? 0n : has;
    for (const [counter, left] of hold.parts) if (own.includes(counter)) hold.parts.set(counter, left - amount);
    if (amount > 0n) count(hold, counters, segment, at, amount, prepaid && hold.fundedIn === modeChanges);
    hold.settled += due;
  }
  function charge(hold: ModelHold, until: number, byService: readonly Segment[] = []): void {
    while (hold.billing !== undefined && hold.billing.since < until) {
      const { since, rate, segment } = hold.billing;
      const made = lateFor(hold).filter((budget) => budget.period === 'Total' && budget.made > since);
      const end = Math.min(until, monthEnd(since), ...made.map((budget) => budget.made));
      hold.accrued += rate * BigInt(end - since);
      hold.billedMs += BigInt(end - since);
      hold.billing.since = end;
      settle(hold, segment, since, byService);
    }
  }
  function finish(hold: ModelHold, until: number, byService: readonly Segment[]): void {
    if (hold.billing !== undefined) {
      const at = Math.max(until, hold.billing.since);
      charge(hold, at, byService);
      const whole = up(hold.billedMs, hold.place.terms.incrementMs);
      hold.accrued += hold.billing.rate * (whole - hold.billedMs);
      hold.accrued = max(hold.accrued, nano(hold.place.terms.minimumUSD) * HOUR);
      settle(hold, 'Teardown', at, byService);
      for (const one of [...hold.charges])
        if (byService.includes(one.segment)) {
          const { project, labels } = hold.place.payer;
          const counters = [...one.counters, ...openings(one.counters, project, labels['team'], one.month)];
          count(hold, counters, one.segment, one.month, -one.amount, one.paid);
        }
    }
    holds.delete(hold.place.key);
  }

  function place(operation: Place, now: number, answer: OperationResult): string | undefined {
    if (holds.has(operation.key)) return answer.outcome === 'DuplicateKey' ? undefined : 'a key was given twice';
    const replaced = holds.get(operation.replaces ?? '');
    if (replaced !== undefined) finish(replaced, now, []);
    const hold: ModelHold = {
      ...{
        place: operation,
        placedAt: now,
        parts: new Map(),
        billing: undefined,
        accrued: 0n,
        billedMs: 0n,
        settled: 0n,
      },
      charges: [],
      fundedIn: modeChanges,
      refused: false,
      drawn: 0,
    };
    const parts = split(hold, operation.amountUSD === undefined ? need(hold, 1) : nano(operation.amountUSD), now);
    if (disputed && prepaid && (parts.get('wallet') ?? 0n) > 0n)
      return answer.outcome === 'Refused' && answer.disputed
        ? undefined
        : 'new work began though a payment is disputed';
    const poor = [...parts].filter(([counter, amount]) => amount > 0n && (free(counter) ?? amount) < amount);
    if (poor.length > 0)
      return answer.outcome === 'Refused' ? undefined : `a wrong yes: ${poor[0]?.[0]} has too little`;
    if (answer.outcome !== 'Applied') return `a wrong no: ${JSON.stringify(answer)}`;
    holds.set(operation.key, { ...hold, parts });
    return undefined;
  }
  function renew(hold: ModelHold, now: number, answer: OperationResult, after: Hold | undefined): string | undefined {
    charge(hold, now);
    const room = (counter: string): bigint | undefined => {
      const left = free(counter);
      return left === undefined ? undefined : left + (hold.parts.get(counter) ?? 0n);
    };
    const lacks = (parts: ReadonlyMap<string, bigint>): boolean =>
      [...parts].some(([counter, amount]) => amount > 0n && (room(counter) ?? amount) < amount);
    const total = [...hold.parts].reduce<bigint | undefined>(
      (least, [counter, left]) => (isMonthly(counter) ? least : least === undefined ? left : min(least, left)),
      undefined,
    );
    const least = split(hold, hold.billing === undefined ? (total ?? 0n) : need(hold, 1), now);
    if (answer.outcome !== 'Applied' || after === undefined) return 'a renewal was not carried out';
    const taken = new Map(after.parts.map(({ counter, amountUSD }) => [counter, nano(amountUSD)]));
    const linesOf = (parts: ReadonlyMap<string, bigint>): string => [...parts].map(String).toSorted().join(' ');
    if (lacks(least)) {
      const { parts, squeezed } = keptBy(hold, total ?? 0n, now);
      if ((answer.refusal === undefined) !== squeezed) return squeezed ? 'a wrong no to a renewal' : 'a wrong yes';
      if (linesOf(parts) !== linesOf(taken)) return `a renewal kept ${linesOf(taken)}, not ${linesOf(parts)}`;
      Object.assign(hold, { parts: taken, refused: !squeezed });
      return undefined;
    }
    if (answer.refusal !== undefined) return 'a wrong no to a renewal';
    if (lacks(taken)) return 'a wrong yes to a renewal';
    const amount = taken.get('wallet') ?? 0n;
    if (linesOf(split(hold, amount, now)) !== linesOf(taken)) return 'a renewal has other parts than its amount gives';
    if (amount < (least.get('wallet') ?? 0n) || amount > max(total ?? 0n, need(hold, 60)))
      return `a renewal took ${amount}`;
    Object.assign(hold, { parts: taken, fundedIn: modeChanges, refused: false });
    return undefined;
  }
  function countUse(use: ModelUse | undefined, cost: bigint): void {
    if (use === undefined) return;
    const more = [...[use.requests, use.errors, use.inputTokens, use.outputTokens].map(BigInt), cost];
    const before = modelUse.get(use.uid) ?? [];
    modelUse.set(
      use.uid,
      more.map((amount, i) => amount + (before[i] ?? 0n)),
    );
  }
  function draw(
    hold: ModelHold,
    { draw: number, usedUSD, holdUSD, use }: Extract<MoneyOperation, { op: 'Draw' }>,
    now: number,
    answer: OperationResult,
    after: Hold | undefined,
  ): string | undefined {
    if (hold.billing !== undefined || number !== hold.drawn + 1)
      return answer.outcome === 'Nothing' ? undefined : 'a draw was carried out twice, or on billed time';
    if (answer.outcome !== 'Applied' || answer.drawn === undefined || after === undefined)
      return 'a draw was not carried out';
    hold.drawn = number;
    const at = month(now);
    const own = countersIn(hold.parts, at);
    const amount = own.reduce((least, counter) => min(least, hold.parts.get(counter) ?? 0n), nano(usedUSD));
    const counters = [...own, ...lateCounters(lateFor(hold), now)];
    for (const [counter, left] of hold.parts) if (own.includes(counter)) hold.parts.set(counter, left - amount);
    if (amount > 0n) spend(hold, counters, at, amount, prepaid && hold.fundedIn === modeChanges);
    countUse(use, amount);
    if (nano(answer.drawn.chargedUSD) !== amount) return `a draw charged ${answer.drawn.chargedUSD}, not ${amount}`;

    const asked = nano(holdUSD);
    const total = [...hold.parts].reduce(
      (least, [counter, left]) => (isMonthly(counter) ? least : min(least, left)),
      asked,
    );
    const wanted = split(hold, asked, now);
    const heldBefore = [...hold.parts].reduce<bigint | undefined>(
      (least, [counter, left]) => (isMonthly(counter) ? least : least === undefined ? left : min(least, left)),
      undefined,
    );
    const paused = disputed && prepaid && asked > (heldBefore ?? 0n);
    const lacks =
      paused ||
      [...wanted].some(([counter, part]) => {
        const left = free(counter);
        return part > 0n && left !== undefined && left + (hold.parts.get(counter) ?? 0n) < part;
      });
    if (lacks) {
      // It has as much as it had at most, and counts in what was made since.
      const late = lateCounters(lateFor(hold), now).map((counter) => [counter, total] as const);
      hold.parts = new Map([
        ...[...hold.parts].map(([counter, left]) => [counter, min(left, total)] as const),
        ...late,
      ]);
    } else Object.assign(hold, { parts: wanted, fundedIn: modeChanges, refused: false });
    const linesOf = (parts: Iterable<readonly [string, bigint]>): string => [...parts].map(String).toSorted().join(' ');
    const found = linesOf(after.parts.map(({ counter, amountUSD }) => [counter, nano(amountUSD)] as const));
    if (linesOf(hold.parts) !== found) return `a draw left ${found}, not ${linesOf(hold.parts)}`;
    const has = countersIn(hold.parts, at).reduce((least, counter) => min(least, hold.parts.get(counter) ?? 0n), asked);
    if ((answer.refusal !== undefined) !== has < asked) return 'a wrong yes or no to a draw';
    return nano(answer.drawn.heldUSD) === has ? undefined : `a draw says ${answer.drawn.heldUSD} are held, not ${has}`;
  }
  /** What a hold keeps that gets nothing: no more than it had, and parts of that on Budgets that were made since. */
  function keptBy(hold: ModelHold, total: bigint, now: number): { parts: Map<string, bigint>; squeezed: boolean } {
    const late = lateCounters(lateFor(hold), now);
    const whole = split(hold, total, now);
    const parts = new Map([...hold.parts, ...late.map((counter) => [counter, whole.get(counter) ?? 0n] as const)]);
    const isOver = binding(hold.place, now).some((counter) => {
      const room = free(counter);
      if (!counter.startsWith('budget/') || !parts.has(counter) || room === undefined) return false;
      return room < (late.includes(counter) ? (parts.get(counter) ?? 0n) : 0n);
    });
    if (hold.billing === undefined || !isOver) return { parts, squeezed: false };
    const squeezed = !hold.refused && total > need(hold, 2);
    const wanted = split(hold, need(hold, squeezed ? 2 : 0), now);
    const less = [...parts].filter(([counter]) => wanted.has(counter));
    const budgetsOf = (names: Iterable<string>): Set<string> =>
      new Set([...names].filter((name) => name.startsWith('budget/')).map((name) => name.split('/')[1] ?? ''));
    const [had, has] = [budgetsOf(parts.keys()), budgetsOf(less.map(([name]) => name))];
    const bound = [...budgetsOf(wanted.keys())].filter((uid) => had.has(uid) && !has.has(uid));
    const empty = [...wanted.keys()].filter((name) => bound.includes(name.split('/')[1] ?? ''));
    return {
      squeezed,
      parts: new Map([
        ...less.map(([name, amount]) => [name, min(amount, wanted.get(name) ?? 0n)] as const),
        ...empty.map((name) => [name, 0n] as const),
      ]),
    };
  }

  function correct(
    { posting: key, amountUSD, once: outside }: Extract<MoneyOperation, { op: 'Correct' }>,
    answer: OperationResult,
    use: Posting | undefined,
  ): string | undefined {
    const nothing = answer.outcome === 'Nothing' ? undefined : 'a correction that cannot be was carried out';
    const amount = nano(amountUSD);
    const corrected = (corrections.get(key) ?? 0n) + amount;
    if (once.has(`correction/${outside}`) || use?.reason !== 'Use') return nothing;
    if (nano(use.amountUSD.toFixed()) + corrected < 0n) return nothing;
    if (answer.outcome !== 'Applied') return 'a correction was not carried out';
    once.add(`correction/${outside}`);
    corrections.set(key, corrected);
    const { project = '', labels = {} } = use.usage ?? {};
    for (const counter of [...use.counters, ...openings(use.counters, project, labels['team'], use.period)])
      spentOn.set(counter, spent(counter) + amount);
    uses.push({ project, team: labels['team'], month: use.period, amount });
    pay(
      amount,
      use.lines.some(({ account }) => account === 'wallet' || account.startsWith('grants/')),
    );
    return undefined;
  }

  function carryOut(
    operation: MoneyOperation,
    now: number,
    answer: OperationResult,
    { hold: after, posting }: Found,
  ): string | undefined {
    switch (operation.op) {
      case 'Place':
        return place(operation, now, answer);
      case 'Bill': {
        const hold = holds.get(operation.key);
        if (hold === undefined) return answer.outcome === 'Nothing' ? undefined : 'what is gone was billed';
        const since = Math.max(hold.billing?.since ?? hold.placedAt, Math.min(operation.from, now));
        charge(hold, since);
        const text = operation.rateUSDPerHour ?? hold.place.terms.rateUSDPerHour;
        const rate = operation.rateUSDPerHour === undefined ? (hold.billing?.rate ?? nano(text)) : nano(text);
        hold.billing = { segment: operation.segment, since, rate };
        return undefined;
      }
      case 'Renew': {
        const hold = holds.get(operation.key);
        if (hold === undefined) return answer.outcome === 'Nothing' ? undefined : 'what is gone was renewed';
        return renew(hold, now, answer, after);
      }
      case 'Release': {
        const hold = holds.get(operation.key);
        if (hold === undefined) return answer.outcome === 'Nothing' ? undefined : 'what is gone was released';
        finish(hold, Math.min(operation.until ?? now, now), operation.covered ?? []);
        return undefined;
      }
      case 'SetBudget': {
        const { budget } = operation;
        const known = budgets.get(budget.uid);
        budgets.set(budget.uid, { ...budget, made: known?.made ?? now });
        if (known !== undefined || budget.period === 'Total') return undefined;
        const counter = `budget/${budget.uid}/${month(now)}`;
        for (const use of uses)
          if (use.month === month(now) && covers(budget, use.project, use.team))
            spentOn.set(counter, spent(counter) + use.amount);
        return undefined;
      }
      case 'DropBudget':
        budgets.delete(operation.uid);
        return undefined;
      case 'Draw': {
        const hold = holds.get(operation.key);
        if (hold === undefined) return answer.outcome === 'Nothing' ? undefined : 'what is gone was drawn on';
        return draw(hold, operation, now, answer, after);
      }
      case 'Count':
        countUse(operation.use, 0n);
        return undefined;
      case 'SetCap':
        if (operation.limitUSD === undefined) caps.delete(operation.uid);
        else caps.set(operation.uid, nano(operation.limitUSD));
        return undefined;
      case 'SetMode':
        if (prepaid !== (operation.mode === 'Prepaid')) modeChanges++;
        prepaid = operation.mode === 'Prepaid';
        return undefined;
      case 'Credit': {
        if (operation.once !== undefined && once.has(operation.once))
          return answer.outcome === 'Nothing' ? undefined : 'an outside key was used twice';
        if (grants.some(({ uid }) => uid === operation.grant))
          return answer.outcome === 'DuplicateKey' ? undefined : 'a grant was made twice';
        if (operation.once !== undefined) once.add(operation.once);
        const paid = min(max(0n, -wallet), nano(operation.amountUSD));
        wallet += paid;
        const expires = operation.expires ?? Number.MAX_SAFE_INTEGER;
        grants = [...grants, { uid: operation.grant, left: nano(operation.amountUSD) - paid, expires }];
        return undefined;
      }
      case 'Clawback': {
        const known = `clawback/${operation.once}`;
        if (once.has(known)) return answer.outcome === 'Nothing' ? undefined : 'a clawback was carried out twice';
        once.add(known);
        takeCredits(nano(operation.amountUSD), operation.grant);
        return undefined;
      }
      case 'SetDisputed':
        disputed = operation.disputed;
        return undefined;
      case 'Correct':
        return correct(operation, answer, posting);
      case 'Expire':
        return undefined;
    }
  }

  function mark(): () => void {
    const state = { budgets, caps, spentOn, holds, uses, modelUse, once };
    const kept = structuredClone({ ...state, corrections, grants, wallet, prepaid, disputed, modeChanges });
    return () => {
      ({ budgets, caps, spentOn, holds, uses, modelUse, once } = kept);
      ({ corrections, grants, wallet, prepaid, disputed, modeChanges } = kept);
    };
  }

  return {
    mark,
    apply(operation, now, answer, found) {
      const takeBack = operation.op === 'Place' || operation.op === 'Credit' ? mark() : undefined;
      expire(now);
      const wrong = carryOut(operation, now, answer, found);
      // A refused operation leaves no trace.
      if (answer.outcome === 'Refused' || answer.outcome === 'DuplicateKey') takeBack?.();
      else if (operation.op !== 'Place') expire(now);
      return wrong;
    },
    ...{ spent, held, balance },
    use: (uid) => modelUse.get(uid) ?? [],
    endpoints: () => [...modelUse.keys()],
    counters: () => [...new Set([...spentOn.keys(), ...[...holds.values()].flatMap(({ parts }) => [...parts.keys()])])],
  };
}
