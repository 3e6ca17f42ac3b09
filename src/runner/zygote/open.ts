/** Decides whether a zygote makes the boxes that are held open: it is tried for real, with a box like those of work. */
import { rmSync } from 'node:fs';
import { seccompFilter } from '../isolation/seccomp.js';
import { trialBox } from '../isolation/isolation.js';
import { writeZygote } from './program.js';
import { Zygote, type ZygoteSettings } from './zygote.js';

export interface OpenZygote extends ZygoteSettings {
  readonly architecture: string;
  /** User of the box that is tried. */
  readonly hostId: number;
  /** Where the agent of that box is to listen. */
  readonly trialSocket: string;
  readonly report: (line: string) => void;
}

/** A trial that takes longer is as good as a failure. */
const TRIAL_MS = 10_000;

/** Undefined where it cannot: then they are made as all others are, which takes longer. */
export async function openZygote(settings: OpenZygote): Promise<Zygote | undefined> {
  const filter = seccompFilter(settings.architecture);
  if (!writeZygote(settings.program, settings.architecture, filter)) return undefined;
  const zygote = new Zygote(settings);
  const problem = await tryOut(zygote, settings).catch((error: unknown) => (error as Error).message);
  if (problem === undefined) return zygote;
  zygote.close();
  settings.report(`no zygote makes boxes here, which takes longer: ${problem}`);
  return undefined;
}

async function tryOut(zygote: Zygote, { hostId, trialSocket }: OpenZygote): Promise<string | undefined> {
  const trial = await zygote.make({ box: trialBox(hostId), socket: trialSocket, memberFiles: [] });
  const timer = setTimeout(() => trial.kill(), TRIAL_MS);
  const ready = await trial.ready;
  clearTimeout(timer);
  trial.kill();
  const { error } = await trial.exited;
  rmSync(trialSocket, { force: true });
  return ready ? undefined : error || 'the trial was not ready';
}
