/** Checks an order before anything is done for it: what the daemon or the box could take for something else is refused. */
import { constants } from 'node:os';
import { z } from 'zod';
import type { CommandSignal, ExecOrder, ProcessOrder, WorkSpec } from '../contract/engine.js';
import { EngineRefusal } from '../shared/refusal.js';
import { isPlainName } from '../shared/plain-name.js';

const text = z.string().refine((value) => !value.includes('\0'), 'has a null byte');
const name = z.string().refine(isPlainName, 'is no plain name');
const command = z.array(text).min(1);
const env = z.record(
  text.refine((key) => key !== '' && !key.includes('='), 'is no name'),
  text,
);
const timeoutSeconds = z.number().positive().finite().optional();
const absolute = text.refine((path) => path.startsWith('/'), 'is not absolute');
const process = z.object({ name, command, env, timeoutSeconds });

const orderSchema = z.object({
  id: name,
  image: z.string().min(1),
  registryLogins: z.array(z.object({ registry: text.optional(), username: text, password: text })),
  main: process.optional(),
  init: process.optional(),
  sidecars: z.array(process),
  workingDir: absolute,
  secretFiles: z.map(name, z.instanceof(Uint8Array)),
  outputs: z.array(z.object({ name, path: text })),
});

const execSchema = z.object({
  work: z.string(),
  id: z
    .string()
    .regex(/^[a-z0-9]{1,32}$/)
    .optional(),
  command,
  env,
  workingDir: absolute,
  timeoutSeconds,
  terminal: z.object({ columns: z.int().min(1).max(65_535), rows: z.int().min(1).max(65_535) }).optional(),
});

export const SIGNAL_NUMBERS: Readonly<Record<CommandSignal, number>> = constants.signals;

/** Throws EngineRefusal (Invalid). Names fields, never values (I11). */
export function checkOrder(spec: WorkSpec): void {
  check(orderSchema, spec);
}

export function checkExec(order: ExecOrder | ProcessOrder): void {
  check(execSchema, order);
}

function check(schema: z.ZodType, order: unknown): void {
  const parsed = schema.safeParse(order);
  if (parsed.success) return;
  const [issue] = parsed.error.issues;
  throw new EngineRefusal('Invalid', `bad ${issue?.path.join('.') ?? 'order'}`);
}
