/** What an attacking process is told, in its first message. */
import { z } from 'zod';

export const order = z.object({
  attack: z.enum([
    'nothing',
    'pipelining',
    'patches',
    'yaml',
    'selectors',
    'half-sent bodies',
    'made-up keys',
    'receivers',
  ]),
  /** Of the service. */
  port: z.int(),
  /** One request with the attacker's key, in base64: to be sent again and again. */
  request: z.string(),
  /** For receivers on https. */
  certificate: z.object({ key: z.string(), cert: z.string() }).optional(),
});

export type Order = z.infer<typeof order>;

/** What the process tells: the port of its receivers once they listen, and what it did so far, once a second. */
export type AttackReport =
  | { readonly port: number }
  | { readonly connections: number; readonly sent: number; readonly answers: Readonly<Record<string, number>> };
