/** Owns how figures are shown and kept: a table, and `ops/bench/results.json`, where a part replaces its earlier self. */
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';
import { z } from 'zod';
import type { Figure } from './figure.js';

const figure = z.object({
  name: z.string(),
  value: z.number().nullable(),
  unit: z.string(),
  atLeast: z.number().optional(),
  atMost: z.number().optional(),
  kubernetes: z.number().optional(),
});

const results = z.object({
  parts: z.record(
    z.string(),
    z.object({
      time: z.string(),
      machine: z.string(),
      /** Of the machine, used by other programs meanwhile. */
      othersPercent: z.number(),
      figures: z.array(figure),
    }),
  ),
});

type Results = z.infer<typeof results>;

/** One line per figure: name, value, target, kube-apiserver's. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map((entry) => [
    entry.name,
    `${entry.value.toLocaleString('en')} ${unitOf(entry.unit)}`,
    targetOf(entry),
    entry.kubernetes === undefined ? '' : entry.kubernetes.toLocaleString('en'),
  ]);
  const all = [['', 'measured', 'target', 'kube-apiserver'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('   '),
    )
    .join('\n');
}

export function isMet(entry: Figure): boolean {
  return entry.value >= (entry.atLeast ?? -Infinity) && entry.value <= (entry.atMost ?? Infinity);
}

function targetOf(entry: Figure): string {
  const target = entry.atLeast === undefined ? entry.atMost : entry.atLeast;
  if (target === undefined) return '';
  return `${entry.atLeast === undefined ? '≤' : '≥'} ${target.toLocaleString('en')} ${isMet(entry) ? 'met' : 'MISSED'}`;
}

function unitOf(unit: Figure['unit']): string {
  switch (unit) {
    case 'per second':
      return '/s';
    case 'count':
    case 'ratio':
      return '';
    default:
      return unit;
  }
}

export interface Measured {
  readonly figures: readonly Figure[];
  readonly others: number;
  readonly time: Date;
}

export async function keep(path: URL, part: string, { figures, others, time }: Measured): Promise<void> {
  const kept = await read(path);
  const entry = { time: time.toISOString(), machine: machine(), othersPercent: others, figures: [...figures] };
  const parts = { ...kept.parts, [part]: entry };
  await writeFile(path, `${JSON.stringify({ parts }, undefined, 2)}\n`);
}

async function read(path: URL): Promise<Results> {
  try {
    return results.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return { parts: {} };
  }
}

export function machine(): string {
  const all = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${all.length} × ${all[0]?.model.trim() ?? 'unknown'}, ${memory} GiB, Linux ${release()}, Node ${process.version}`;
}
