/**
 * Puts a runner together from its parts, and ends it when it is idle or gets SIGTERM.
 */
import { appendFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, rm } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { statfs } from 'node:fs/promises';
import type { EngineFacts } from '../engines/compute/contract/engine.js';
import { AgentSockets } from './agent/agent.js';
import { writeAgent } from './agent/program.js';
import { isKnown } from './isolation/calls.js';
import { collectOutputs } from './work/outputs.js';
import { ProxyListeners } from '../engines/compute/shared/egress/proxy-listener.js';
import { builtProxy, ProxyProcess } from '../engines/compute/shared/egress/proxy-process.js';
import { idBaseOfThisMachine } from './isolation/host-ids.js';
import { leaveWindows, OWN_MOUNTS } from './isolation/own-mounts.js';
import { PrivateFiles } from './isolation/private-files.js';
import { findProgram } from '../engines/compute/shared/find-program.js';
import { openIsolation } from './isolation/probe.js';
import { Journal } from './journal/journal.js';
import { claimDirectory, layoutOf, type Layout } from '../engines/compute/shared/plain-name.js';
import { MIN_AGE_MS, watchDisk, type Measured } from '../engines/compute/shared/disk-limit.js';
import { watchLocks, type LockHolder } from './limits/locks.js';
import { raiseMachineSettings } from './limits/machine-settings.js';
import { watchSockets, type SocketHolder } from './limits/sockets.js';
import { probeGroups } from './limits/probe.js';
import { processesOf } from './limits/v1.js';
import { showLife } from './last-life.js';
import { clearLost } from './lost.js';
import { OwnDirectories } from './own-directories.js';
import { Pipes } from './process/pipes.js';
import { runTool } from '../engines/compute/shared/tool.js';
import { openOrgLogs } from '../engines/compute/shared/log/org-logs.js';
import { RunnerServer } from './server.js';
import type { RunnerSettings } from './settings.js';
import { Scratch } from './work/scratch.js';
import { mountScratch } from './work/scratch-mount.js';
import { warmBoxesWithin } from './work/warm-pool.js';
import { Semaphore } from './work/semaphore.js';
import { Works } from './works.js';
import { openZygote } from './zygote/open.js';

/** Boxes that are being made at the same time: enough for a few processors, and a crowd comes in the order in which it asked. */
const BOXES_AT_ONCE = 8;

export async function openRunner(
  settings: RunnerSettings,
  runner: string,
  report: (line: string) => void,
): Promise<void> {
  const layout = layoutOf(settings.runnerDir, settings.runtimeDir);
  const uid = process.getuid?.() ?? 0;
  // Before anything else: what a newer program left is not ours to clear.
  await Journal.checkFormat(layout.journal);
  for (const path of [layout.logs, layout.outputs]) await mkdir(path, { recursive: true, mode: 0o700 });
  await mkdir(layout.scratch, { recursive: true, mode: 0o711 });
  await chmod(layout.scratch, 0o711);
  const own = new OwnDirectories([settings.runnerDir, layout.scratch]);
  // The service has made these already; the runner before may have taken them away since.
  for (const path of [dirname(settings.runtimeDir), settings.runtimeDir])
    claimDirectory(path, uid === 0 ? 0o711 : 0o700, uid);
  claimDirectory(layout.socketDir, 0o700, uid);
  claimDirectory(layout.api, uid === 0 ? 0o711 : 0o700, uid);
  if (process.env[OWN_MOUNTS] !== undefined) await leaveWindows();
  const idBase = uid === 0 ? idBaseOfThisMachine(settings.maxLive) : undefined;
  const scratch = new Scratch(layout.scratch, await mountScratch(layout, uid), idBase, settings.maxLive);
  const marker = `troupe-${settings.runnerId}`;
  const pipes = new Pipes(layout.pipes);
  const sockets = new AgentSockets(layout.agents);
  const perl = findProgram('perl');
  // Zero or undefined: no bound that this process knows of.
  const memory = Math.min(totalmem(), process.constrainedMemory() || totalmem());
  // Before what is shared out by them.
  raiseMachineSettings({ uid, memory: totalmem(), report });
  const groups = probeGroups(marker, uid, memory);
  // Its program as it was when this one started: the clone may be built anew meanwhile.
  await copyFile(builtProxy(), layout.proxy);
  const proxy = new ProxyProcess({ program: layout.proxy, report });
  proxy.start();
  const isolation = await openIsolation({
    wanted: settings.isolation,
    uid,
    hostId: idBase,
    systemDir: layout.system,
    shownSystemDir: scratch.shownSystem,
    hidden: settings.hidden,
    marker,
    pipes,
  });
  const known = await clearLost(layout.journal, {
    scratch,
    groups,
    logs: layout.logs,
    marker,
    settings: process.argv[2] ?? '',
    report,
  });
  const privateFiles = new PrivateFiles(
    { real: layout.privateFiles, shown: scratch.shownPrivate, count: settings.copies },
    isolation.view.mounts,
    perl,
    report,
  );
  const agent = perl === undefined ? undefined : writeAgent(layout.agent, perl, process.arch, marker);
  // Where no other way is asked for.
  const zygote =
    agent === undefined || idBase === undefined || settings.isolation !== 'auto' || isolation.refusal !== undefined
      ? undefined
      : await openZygote({
          ...agent,
          program: layout.zygote,
          socket: sockets.next(),
          view: isolation.view,
          architecture: process.arch,
          hostId: idBase,
          trialSocket: sockets.next(),
          report,
        });
  const disk = await statfs(layout.scratch);

  const facts: EngineFacts = {
    name: 'namespaces',
    isolation: isolation.isolation.name,
    milliCpu: availableParallelism() * 1000,
    memory,
    disk: disk.bavail * disk.bsize,
    enforced: { ...groups.enforced, pids: groups.enforced.pids || isolation.limitsProcesses, disk: true },
    refusal: isolation.refusal,
  };
  const orgLogs = await openOrgLogs(layout.logs, settings.orgLogBytes, report);
  const works = new Works(
    {
      maxLive: settings.maxLive,
      maxKept: settings.maxKept,
      spares: warmBoxesWithin(
        { memory: facts.memory, processors: availableParallelism(), zygote: zygote !== undefined },
        settings.spares,
      ),
      journalFile: layout.journal,
      logs: layout.logs,
      orgLogs,
      outputs: layout.outputs,
    },
    {
      now: Date.now,
      isolation: isolation.isolation,
      refusal: isolation.refusal,
      groups,
      scratch,
      privateFiles,
      pipes,
      boxSemaphore: new Semaphore(BOXES_AT_ONCE),
      agent:
        agent === undefined
          ? undefined
          : {
              ...{ isolation: isolation.isolation, pipes, sockets, program: agent, zygote },
              carriesData: isKnown(process.arch),
            },
      outward: {
        endpoints: new ProxyListeners({
          perl,
          architecture: process.arch,
          bringUp: isolation.isolation.name === 'unshare',
        }),
        proxy,
      },
      relayed: () => server.relayed,
      transferring: () => server.transferring,
      onLogGrown: (id, container) => server.onLogGrown(id, container),
      onLogEnded: (id, container) => server.onLogEnded(id, container),
      collect: (order, slot, settled) => collectOutputs(order, slot, layout.outputs, settled),
      report,
    },
    known,
    (state) => server.onState(state),
  );
  await works.open();
  const checkDirectories = (): void => {
    const replaced = own.replaced();
    if (replaced !== undefined) endReplaced(replaced, layout, report);
  };
  const server = new RunnerServer({
    ...{ works, runner, protocol: settings.protocol, checkDirectories, report },
    facts: () => facts,
  });
  await server.listen(layout.socket);
  report(
    `runner ${runner} ready: ${facts.isolation}${facts.refusal === undefined ? '' : `, refuses work: ${facts.refusal}`}`,
  );
  const over = new AbortController();
  const measured = (): Measured[] =>
    works.liveWork().flatMap((work) =>
      Date.now() - (work.state.preparedAt ?? 0) < MIN_AGE_MS
        ? []
        : [
            {
              work,
              activity: () => work.activity(),
              paths: work.measured(),
              processList: work.processList(),
              limit: work.spec.limits.disk,
              exceeded: (what) => work.diskFull(what),
            },
          ],
    );
  void watchDisk(measured, settings.diskSeconds, over.signal);
  const holders = (): SocketHolder[] =>
    works.liveWork().map((work) => ({
      work,
      firstProcess: work.firstProcess,
      activity: () => work.activity(),
      exceeded: (what) => work.kernelMemoryFull(`sockets ${what}`),
    }));
  void watchSockets(holders, over.signal);
  const lockHolders = (): LockHolder[] =>
    works.liveWork().map((work) => ({
      firstProcess: work.firstProcess,
      processes: () => processesOf([work.processList()].flatMap((list) => (list === undefined ? [] : [dirname(list)]))),
      exceeded: (what) => work.kernelMemoryFull(`locks of files ${what}`),
    }));
  void watchLocks(lockHolders, over.signal);
  void orgLogs
    .findStored(over.signal)
    .catch((error: unknown) => report(`logs of before cannot be counted: ${(error as Error).message}`));
  void showLife(layout.journal, () => works.liveCount > 0, over.signal);
  const stopping = new AbortController();
  process.removeAllListeners('SIGTERM').on('SIGTERM', () => stopping.abort());
  await idle(works, server, settings.idleSeconds * 1000, stopping.signal);
  // Who has just hung up may still be counted.
  for (let looks = 0; looks < 10 && server.connections > 0; looks += 1) await delay(10);
  // What runs ends with this process, and the next runner clears it away; services that are connected go on with that one, in the same directories.
  if (works.liveCount > 0 || server.connections > 0) process.exit(0);
  over.abort();
  report(stopping.signal.aborted ? 'ends: told to, without work' : 'ends: no work and no connection');
  await server.close();
  await works.close();
  zygote?.close();
  proxy.close();
  groups.close();
  await leave(layout, settings.runtimeDir);
  process.exit(0);
}

/** At once, and with it all its work; the service starts the next runner, in the directory that is there now. */
function endReplaced(path: string, layout: Layout, report: (line: string) => void): never {
  const line = `ends, and all its work: ${path} is not the directory that it was started on (a restored backup?)`;
  report(line);
  try {
    // What this process prints goes to the file of the directory that is gone.
    appendFileSync(layout.output, `${new Date().toISOString()} the runner before ${line}\n`, { mode: 0o600 });
  } catch {
    // There is no directory, or no room.
  }
  process.exit(0);
}

/** Takes away what no following runner needs; what cannot go is made again by the next runner. */
async function leave(layout: Layout, runtimeDir: string): Promise<void> {
  await runTool({ file: 'umount', args: ['--lazy', layout.scratchMount] });
  await rm(runtimeDir, { recursive: true, force: true }).catch(() => undefined);
}

/** Resolves when there was neither work nor a connection for the whole time, or with the signal. */
async function idle(works: Works, server: RunnerServer, forMs: number, stopping: AbortSignal): Promise<void> {
  let since = Date.now();
  while (!stopping.aborted) {
    await delay(Math.min(1000, forMs / 4), undefined, { signal: stopping }).catch(() => undefined);
    if (works.liveCount > 0 || server.connections > 0) since = Date.now();
    else if (Date.now() - since >= forMs) return;
  }
}
