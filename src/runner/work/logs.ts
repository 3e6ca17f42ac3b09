/**
 * The logs of one piece of work, by the names of its containers: opens them, ends each when nothing writes to it any more, and
 * knows which may still grow. Not those of detached processes (`processes.ts`).
 */
import { NETWORK_LOG } from '../../engines/compute/shared/egress/egress-session.js';
import type { SessionEnd } from '../agent/session.js';
import { completeLogs } from '../../engines/compute/shared/log/complete.js';
import type { WorkLogSpace } from '../../engines/compute/shared/log/org-logs.js';
import { LogWriter } from '../../engines/compute/shared/log/writer.js';
import type { Patience } from '../../engines/compute/shared/retry.js';
import type { WireOrder } from '../protocol/messages.js';
import type { WorkDeps } from './deps.js';
import type { BoxProcess } from './box-process.js';

export class WorkLogs {
  private readonly spec: WireOrder;
  private readonly deps: WorkDeps;
  /** Also for logs that others make of this work. */
  readonly space: WorkLogSpace;
  private readonly logs = new Map<string, LogWriter>();
  private readonly over = new Set<string>();

  constructor(spec: WireOrder, deps: WorkDeps) {
    this.spec = spec;
    this.deps = deps;
    this.space = deps.logSpace(spec);
  }

  open(name: string): LogWriter {
    const { deps, spec, space } = this;
    const onGrown = (): void => deps.onLogGrown(spec.id, name);
    const log = new LogWriter(deps.logDirectory(spec.id), name, spec.limits.logBytes, deps.now, onGrown, space);
    this.logs.set(name, log);
    return log;
  }

  /** A log ends when nothing holds its pipes any more, which for sidecars and init can be long before the work's end. */
  async endWith(part: BoxProcess, name: string): Promise<void> {
    const end = await part.exited;
    await part.drained;
    if (this.spec.sidecars.some((sidecar) => sidecar.name === name)) this.say(name, wordsFor(end));
    const log = this.logs.get(name);
    await log?.end();
    // Otherwise more comes when there is room, at the latest with the end of the work.
    if (log?.isWhole === false) return;
    this.over.add(name);
    this.deps.onLogEnded(this.spec.id, name);
  }

  /** A line of the runner's own, where the container has a log. */
  say(name: string, words: string): void {
    this.logs.get(name)?.system(`[${words}]`);
  }

  /** A connection that work made or was refused. */
  connection(line: string): void {
    const log = this.logs.get(NETWORK_LOG) ?? this.open(NETWORK_LOG);
    log.feed('stdout', Buffer.from(`${line}\n`));
  }

  mayGrow(name: string): boolean {
    return !this.over.has(name);
  }

  /** True when nothing was written to any. Only of work that has ended. */
  get silent(): boolean {
    return [...this.logs.values()].every((log) => log.silent);
  }

  async end(): Promise<void> {
    await Promise.all([...this.logs.values()].map((log) => log.end()));
  }

  /** Waits for room for what could not be written, of these and of other logs of the work; `waits` says that it does. Of logs that have ended. */
  async whole(
    others: ReadonlyMap<string, LogWriter> | undefined,
    patience: Patience,
    waits: (error: string) => void,
  ): Promise<void> {
    const logs = [...this.logs, ...(others ?? [])];
    await completeLogs(logs, patience, waits, (line) => this.deps.report(`${this.spec.id}: ${line}`));
  }
}

function wordsFor(end: SessionEnd): string {
  switch (end.end) {
    case 'Exited':
      return `ended with exit code ${end.exitCode}`;
    case 'NotExecuted':
      return end.message;
    case 'Gone':
      return 'ended with exit code 137';
  }
}
