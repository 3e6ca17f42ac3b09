/** What the simulated world keeps of one object: its committed state. */
import type { Address } from '../../../src/api/address.js';
import type { ApiObject } from '../../../src/api/object.js';
import type { SlotRow } from '../../../src/kinds/machine.js';

export interface Entity {
  readonly address: Address;
  readonly uid: string;
  object: ApiObject;
  private: unknown;
  side: unknown;
  readonly rows: Map<number, SlotRow>;
  version: number;
}

/** Of one object; fired when the world's time reaches it. */
export interface ArmedTimer {
  readonly uid: string;
  readonly address: Address;
  readonly timer: string;
  readonly at: number;
}
