/** What the body of a command says, of one that is waited for (`exec.ts`) and of a detached one (`processes.ts`). */
import { z } from 'zod';
import type { Command } from '../../actors/work/commands.js';
import { parseDuration } from '../../src/api/duration.js';
import { refuse } from '../../src/api/refusal.js';
import { zAbsolutePath, zDuration, zMap } from '../../src/api/schema.js';
import { argument, commandLine, ownVariableName } from '../../src/kinds/shapes/program.js';
import { MOST_ENV } from '../../src/kinds/shapes/bounds.js';
import type { Bodies } from '../body.js';
import type { Exchange } from '../exchange.js';
import { readBody } from '../resources/parse.js';
import { readEpoch, readWait } from './epoch.js';

const body = z.strictObject({
  command: commandLine,
  env: zMap(ownVariableName, argument, MOST_ENV).default({}),
  workingDir: zAbsolutePath().optional(),
  stdin: z.string().optional(),
  timeout: zDuration({ min: '1s', max: '24h' }).optional(),
  tty: z.literal(false).optional(),
  user: z.string().optional(),
});

export interface AskedCommand {
  readonly command: Command;
  readonly stdin: string | undefined;
}

export async function readCommand(x: Exchange, bodies: Bodies, bytes: Buffer): Promise<AskedCommand> {
  const asked = await readBody(x, bodies, bytes, body);
  if (asked.user !== undefined && asked.user !== '0' && asked.user !== 'root') {
    throw refuse('Unsupported', 'commands run as uid 0 inside; another user is not supported yet', {
      causes: [{ field: 'user', reason: 'Unsupported', message: 'not supported yet' }],
    });
  }
  const command: Command = {
    command: asked.command,
    env: asked.env,
    workingDir: asked.workingDir,
    timeoutSeconds: asked.timeout === undefined ? undefined : Math.ceil((parseDuration(asked.timeout) ?? 0) / 1_000),
    epoch: readEpoch(x),
    waitMs: readWait(x),
  };
  return { command, stdin: asked.stdin };
}
