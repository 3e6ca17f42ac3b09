/**
 * `<data>/listening.json`: where the leader that serves from this data directory is to be reached. A standby on the same
 * data directory announces itself in `standby.json` (of several the one that started last), so that the first file never names a process
 * that is not the leader. A killed process leaves its file behind, so a reader compares the process id.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writePrivate } from './private-file.js';

const Listening = z.object({
  /** Process id of the service. */
  pid: z.number(),
  /** Base URL for HTTP. */
  http: z.string(),
  /** Base URL for HTTPS; absent when TLS is off. */
  https: z.string().optional(),
});

export type Listening = z.output<typeof Listening>;

export type Role = 'listening' | 'standby';

const fileIn = (dataDir: string, role: Role): string => join(dataDir, `${role}.json`);

/** Announces it in the file of this role, and removes it from the file of the other one. */
export const announceListening = async (dataDir: string, role: Role, listening: Listening): Promise<void> => {
  await writePrivate(fileIn(dataDir, role), `${JSON.stringify(listening)}\n`);
  await retract(dataDir, role === 'listening' ? 'standby' : 'listening');
};

/** Takes our announcements back; another process's stay. */
export const retractListening = async (dataDir: string): Promise<void> => {
  await retract(dataDir, 'listening');
  await retract(dataDir, 'standby');
};

const retract = async (dataDir: string, role: Role): Promise<void> => {
  if ((await readListening(dataDir, role))?.pid === process.pid) await rm(fileIn(dataDir, role), { force: true });
};

/** What is announced; undefined when nothing is. */
export const readListening = async (dataDir: string, role: Role = 'listening'): Promise<Listening | undefined> => {
  const text = await readFile(fileIn(dataDir, role), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : Listening.parse(JSON.parse(text));
};
