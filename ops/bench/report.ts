/**
 * Shows figures and keeps them: a table on the screen, `results.json`, where a part replaces its earlier self, and
 * the same figures in README.md between its two marks, so that nobody copies numbers by hand.
 */
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
  const all = [HEADS, ...figures.map(cells)];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('   '),
    )
    .join('\n');
}

const HEADS = ['', 'measured', 'target', 'kube-apiserver'];

type Shown = Omit<Figure, 'unit'> & { readonly unit: string };

function cells(entry: Shown): string[] {
  return [
    entry.name,
    Number.isNaN(entry.value) ? 'not measured' : `${entry.value.toLocaleString('en')} ${unitOf(entry.unit)}`.trim(),
    targetOf(entry),
    entry.kubernetes === undefined ? '' : entry.kubernetes.toLocaleString('en'),
  ];
}

export function isMet(entry: Shown): boolean {
  return entry.value >= (entry.atLeast ?? -Infinity) && entry.value <= (entry.atMost ?? Infinity);
}

function targetOf(entry: Shown): string {
  const target = entry.atLeast === undefined ? entry.atMost : entry.atLeast;
  if (target === undefined) return '';
  return `${entry.atLeast === undefined ? '≤' : '≥'} ${target.toLocaleString('en')} ${isMet(entry) ? 'met' : 'MISSED'}`;
}

function unitOf(unit: string): string {
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

/** `dir` is `ops/bench` of the sources. */
export async function keep(dir: URL, part: string, { figures, others, time }: Measured): Promise<void> {
  const path = new URL('results.json', dir);
  const kept = await read(path);
  const entry = { time: time.toISOString(), machine: machine(), othersPercent: others, figures: [...figures] };
  const parts = { ...kept.parts, [part]: entry };
  await writeFile(path, `${JSON.stringify({ parts }, undefined, 2)}\n`);
  await publish(new URL('README.md', dir), { parts });
}

const BEGIN = '<!-- figures: written by `npm run bench` -->';
const END = '<!-- end of figures -->';

async function publish(path: URL, { parts }: Results): Promise<void> {
  const text = await readFile(path, 'utf8');
  const [before, rest] = text.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error('README.md has lost the marks of its figures');
  const sections = Object.entries(parts).map(([name, part]) => {
    const when = `${part.time.slice(0, 16).replace('T', ' ')} UTC, ${part.machine}; others used ${part.othersPercent} % of it.`;
    const rows = part.figures.map(
      (entry) => `| ${cells({ ...entry, value: entry.value ?? Number.NaN }).join(' | ')} |`,
    );
    return [`### ${name}`, '', when, '', `| ${HEADS.join(' | ')} |`, '|-|-:|-:|-:|', ...rows].join('\n');
  });
  await writeFile(path, `${before}${BEGIN}\n\n${sections.join('\n\n')}\n\n${END}${after}`);
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
