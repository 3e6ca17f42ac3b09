/** What the proxy process and the one that started it tell each other, over the channel that Node has for its own children. */
import type { WorkNetwork } from '../engine.js';

/** `open` comes with the socket that listens inside the box. Numbers of boxes are the starter's, and never used again for another. */
export type ToProxy =
  | { readonly op: 'open'; readonly box: number; readonly network: WorkNetwork; readonly allow: readonly string[] }
  | { readonly op: 'close'; readonly box: number }
  | { readonly op: 'relay'; readonly directory: string; readonly service: string }
  | { readonly op: 'unrelay'; readonly directory: string };

/** `closed` comes after all lines of the box. */
export type FromProxy =
  | { readonly op: 'lines'; readonly box: number; readonly lines: readonly string[] }
  | { readonly op: 'closed'; readonly box: number }
  | { readonly op: 'relayed'; readonly directory: string };
