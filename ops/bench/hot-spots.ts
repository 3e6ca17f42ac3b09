/** Reads CPU profiles: in which functions the time was spent, by their own time. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const profile = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
    }),
  ),
  samples: z.array(z.number()),
  /** µs before each sample. */
  timeDeltas: z.array(z.number()),
});

type Profile = z.infer<typeof profile>;

/** Lines `12.3 %  name  file:line` of the costliest functions; waiting is left out of the sum. */
export async function hotSpots(dir: string, most: number): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.cpuprofile'));
  const own = new Map<string, number>();
  for (const name of names) addProfile(own, profile.parse(JSON.parse(await readFile(join(dir, name), 'utf8'))));
  own.delete('(idle)');
  const total = [...own.values()].reduce((sum, time) => sum + time, 0);
  return [...own]
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, most)
    .map(([where, time]) => `${((time / total) * 100).toFixed(1).padStart(5)} %  ${where}`);
}

function addProfile(own: Map<string, number>, taken: Profile): void {
  const where = new Map(taken.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  taken.samples.forEach((id, index) => {
    const name = where.get(id) ?? '(unknown)';
    own.set(name, (own.get(name) ?? 0) + (taken.timeDeltas[index] ?? 0));
  });
}

function nameOf(frame: Profile['nodes'][number]['callFrame']): string {
  if (frame.url === '') return frame.functionName === '' ? '(program)' : frame.functionName;
  const file = frame.url.replace(/^file:\/\//, '').replace(/^.*\/(node_modules|dist)\//, '');
  return `${frame.functionName === '' ? '(anonymous)' : frame.functionName}  ${file}:${frame.lineNumber + 1}`;
}
