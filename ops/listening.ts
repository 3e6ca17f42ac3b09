/**
 * Owns `<data>/listening.json`: where the process that serves from this data directory is to be reached. It is there
 * while the service listens; a killed service leaves it behind, so a reader compares the process id.
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

const fileIn = (dataDir: string): string => join(dataDir, 'listening.json');

export const announceListening = (dataDir: string, listening: Listening): Promise<void> =>
  writePrivate(fileIn(dataDir), `${JSON.stringify(listening)}\n`);

/** Takes our announcement back; another process's stays. */
export const retractListening = async (dataDir: string): Promise<void> => {
  if ((await readListening(dataDir))?.pid === process.pid) await rm(fileIn(dataDir), { force: true });
};

/** What is announced; undefined when nothing is. */
export const readListening = async (dataDir: string): Promise<Listening | undefined> => {
  const text = await readFile(fileIn(dataDir), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : Listening.parse(JSON.parse(text));
};
