/** What the proxy process and the one that started it tell each other, over the channel that Node has for its own children. */
import type { WorkNetwork } from '../../contract/engine.js';

/** What a box that is shown a directory reaches by the socket in it. */
export interface Relayed {
  /** Socket of the service. */
  readonly service: string;
  /** Id of the work whose box it is; undefined: it has none yet, and nothing goes on before. */
  readonly work: string | undefined;
}

/** `open` comes with the socket that listens inside the box. Numbers of boxes are the starter's, and never used again for another. */
export type ToProxy =
  | { readonly op: 'open'; readonly box: number; readonly network: WorkNetwork; readonly allow: readonly string[] }
  | { readonly op: 'close'; readonly box: number }
  | ({ readonly op: 'relay'; readonly directory: string } & Relayed)
  | { readonly op: 'unrelay'; readonly directory: string };

/** `closed` comes after all lines of the box. */
export type FromProxy =
  | { readonly op: 'lines'; readonly box: number; readonly lines: readonly string[] }
  | { readonly op: 'closed'; readonly box: number }
  | { readonly op: 'relayed'; readonly directory: string };
