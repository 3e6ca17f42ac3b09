/** Opens what has to do with running work: the Attempts that have some, what the engine reports, and what is done inside of it. */
import type { Address } from '../src/api/address.js';
import type { WorkReport } from '../src/kinds/report.js';
import type { ActorsDeps } from './deps.js';
import type { WorkDeps } from './effects/work.js';
import type { ObjectsPart } from './open-objects.js';
import { openActivity } from './work/report-activity.js';
import { openAttempts } from './work/attempts.js';
import { clientEngine } from './work/client-engine.js';
import { openCommands } from './work/commands.js';
import { openDetached } from './work/detached.js';
import { openFiles } from './work/files/open.js';
import { openFundedTimes } from './work/funded-times.js';
import { openReports, type ReportDelivery } from './work/reports.js';
import { openRunning } from './work/running.js';
import { openTools } from './work/tools.js';
import { keepWithinVolume } from './work/volume-cap.js';

export type WorkPart = ReturnType<typeof openWork>;

export function openWork(deps: ActorsDeps, { read, router, nextChange }: ObjectsPart) {
  const { kinds, engine, secrets, inputs, access, clock, stopping } = deps;
  const onProblem = (message: string): void => deps.observe.problem('running work', message);
  const attempts = openAttempts();
  const activity = openActivity({
    tell: (address, uid, message) => void router.send(address, uid, message),
    now: clock,
    stopping,
  });
  const order = {
    ...{ kinds, engine, secrets, inputs, access, read, now: clock },
    // Lost in a crash, like any use that is not noted yet.
    used: (address: Address, uid: string): void => void router.send(address, uid, { type: 'Used', time: clock() }),
  };
  const detached = openDetached({ attempts, activity, read, onProblem });
  const tools = openTools({ ...order, attempts, router, stopping, onProblem });
  async function deliver(address: Address, uid: string, report: WorkReport): Promise<ReportDelivery> {
    const delivery = await router.deliver(address, uid, { type: 'Reported', report });
    if (delivery === 'Parked') return delivery;
    return delivery === 'Done' || delivery === 'Absent' ? 'Done' : 'Retry';
  }
  const reports =
    engine &&
    openReports({
      ...{
        engine,
        attempts,
        deliver,
        keep: keepWithinVolume({ kinds, read, keep: deps.keepOutput }),
        stopping,
        now: clock,
        onProblem,
      },
      onState(state) {
        detached.note(state);
        tools.note(state);
      },
      onRemoved(id) {
        detached.gone(id);
        tools.gone(id);
      },
    });
  const attaching = { ...order, engine: engine && clientEngine(engine), activity, nextChange: nextChange.wait };
  const fundedTimes = openFundedTimes({
    ...{ engine, attempts, clock, onProblem },
    graceMs: deps.settings.unfundedGraceMs,
  });
  return {
    /** What the effects on work use. */
    deps: {
      ...{ ...order, attempts, reports, deliver, tell: router.tell },
      fundedSeconds: fundedTimes.secondsOf,
    } satisfies Omit<WorkDeps, 'workBegun'>,
    attempts,
    tools,
    fundedTimes,
    running: openRunning({ attempts, router, read }),
    commands: openCommands(attaching),
    files: openFiles(attaching),
  };
}
