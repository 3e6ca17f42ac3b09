/** Resource amounts as plain numbers, the form in which capacity is counted. */

export interface ResourceAmounts {
  /** Thousandths of a core. */
  readonly milliCpu: number;
  /** Bytes. */
  readonly memory: number;
  /** Bytes. */
  readonly disk: number;
}
