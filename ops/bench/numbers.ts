/** Reduces a row of measurements to percentiles and the like. */

/** Grows as needed; 8 bytes per value. */
export class Sample {
  #values = new Float64Array(1024);
  #count = 0;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const more = new Float64Array(this.#count * 2);
      more.set(this.#values);
      this.#values = more;
    }
    this.#values[this.#count] = value;
    this.#count += 1;
  }

  get count(): number {
    return this.#count;
  }

  /** The value below which this share (0 to 1) of all values lies; NaN when there are none. */
  quantiles(...shares: readonly number[]): number[] {
    const sorted = this.#values.slice(0, this.#count).toSorted();
    return shares.map((share) => sorted[Math.min(this.#count - 1, Math.floor(share * this.#count))] ?? Number.NaN);
  }
}

export function round(value: number, digits = 1): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}
