/**
 * Sets of indexes kept as intervals, with the compressed text of batch/v1 (`completedIndexes: "1,3-5,7"`).
 *
 * Memory and text grow with the number of gaps, not of indexes. `add`, `delete` and `has` search in O(log intervals);
 * where an interval begins or ends in the middle, the tail of two small arrays is moved.
 */

export class IndexSet {
  /** First index of each interval, ascending. */
  readonly #starts: number[] = [];
  /** Last index (inclusive) of each interval. Between `#ends[i]` and `#starts[i + 1]` is at least one index that is not in. */
  readonly #ends: number[] = [];
  #size = 0;
  #text: string | undefined = '';

  /** How many indexes are in. */
  get size(): number {
    return this.#size;
  }

  has(index: number): boolean {
    const at = this.#intervalAtOrBefore(index);
    return at >= 0 && index <= (this.#ends[at] ?? -1);
  }

  /** True when the index was not in before. Takes whole numbers from 0. */
  add(index: number): boolean {
    const at = this.#intervalAtOrBefore(index);
    const end = at >= 0 ? (this.#ends[at] ?? -1) : Number.NEGATIVE_INFINITY;
    if (index <= end) return false;
    const touchesLeft = end === index - 1;
    const touchesRight = this.#starts[at + 1] === index + 1;
    if (touchesLeft && touchesRight) {
      this.#ends.splice(at, 1);
      this.#starts.splice(at + 1, 1);
    } else if (touchesLeft) this.#ends[at] = index;
    else if (touchesRight) this.#starts[at + 1] = index;
    else {
      this.#starts.splice(at + 1, 0, index);
      this.#ends.splice(at + 1, 0, index);
    }
    this.#size += 1;
    this.#text = undefined;
    return true;
  }

  /** True when the index was in before. */
  delete(index: number): boolean {
    const at = this.#intervalAtOrBefore(index);
    const start = this.#starts[at];
    const end = this.#ends[at];
    if (start === undefined || end === undefined || index > end) return false;
    if (start === end) {
      this.#starts.splice(at, 1);
      this.#ends.splice(at, 1);
    } else if (index === start) this.#starts[at] = index + 1;
    else if (index === end) this.#ends[at] = index - 1;
    else {
      this.#ends.splice(at, 0, index - 1);
      this.#starts.splice(at + 1, 0, index + 1);
    }
    this.#size -= 1;
    this.#text = undefined;
    return true;
  }

  /** `1,3-5,7`; empty for an empty set. Kept until the next change. Two neighbours are written `3,4`, as batch/v1 does. */
  text(): string {
    if (this.#text !== undefined) return this.#text;
    let text = '';
    for (let i = 0; i < this.#starts.length; i++) {
      const start = this.#starts[i] ?? 0;
      const end = this.#ends[i] ?? 0;
      if (i > 0) text += ',';
      text += start === end ? start : end === start + 1 ? `${start},${end}` : `${start}-${end}`;
    }
    this.#text = text;
    return text;
  }

  *[Symbol.iterator](): IterableIterator<number> {
    for (let i = 0; i < this.#starts.length; i++) {
      for (let index = this.#starts[i] ?? 0; index <= (this.#ends[i] ?? -1); index++) yield index;
    }
  }

  /** The set that a compressed text names; undefined for any other text. */
  static parse(text: string): IndexSet | undefined {
    const set = new IndexSet();
    if (text === '') return set;
    let last = -1;
    for (const part of text.split(',')) {
      const [, first, second] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(part) ?? [];
      if (first === undefined) return undefined;
      const start = Number(first);
      const end = Number(second ?? first);
      if (start <= last || end < start) return undefined;
      set.#append(start, end);
      last = end;
    }
    return set;
  }

  #append(start: number, end: number): void {
    const previous = this.#ends.length - 1;
    if (this.#ends[previous] === start - 1) this.#ends[previous] = end;
    else {
      this.#starts.push(start);
      this.#ends.push(end);
    }
    this.#size += end - start + 1;
    this.#text = undefined;
  }

  /** Position of the last interval that starts at or before the index; -1 when there is none. */
  #intervalAtOrBefore(index: number): number {
    let low = 0;
    let high = this.#starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#starts[middle] ?? 0) <= index) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
