/**
 * Lanes that wait for a place, by org: the next is of the org whose turn it is, so that many lanes of one org hold up no other's. Of
 * places that are held long an org has at most as many as it leaves free: one alone takes half of them, and one more org always finds
 * some. Taking the next costs the number of orgs that wait, whatever the number of their lanes.
 */
export interface Waiting {
  readonly org: string;
}

export class OrgRoundRobin<T extends Waiting> {
  private readonly places: number;
  private readonly shared: boolean;
  /** In the order of their turns. */
  private readonly waiting = new Map<string, Set<T>>();
  private readonly held = new Map<string, number>();
  private running = 0;

  /** `shared`: an org leaves as many places free as it holds. */
  constructor(places: number, shared: boolean) {
    this.places = places;
    this.shared = shared;
  }

  add(one: T): void {
    const others = this.waiting.get(one.org);
    if (others === undefined) this.waiting.set(one.org, new Set([one]));
    else others.add(one);
  }

  delete(one: T): void {
    const others = this.waiting.get(one.org);
    if (others?.delete(one) === true && others.size === 0) this.waiting.delete(one.org);
  }

  /** Takes the next one and a place for it; undefined: none may have one now. */
  take(): T | undefined {
    const free = this.places - this.running;
    if (free <= 0) return undefined;
    for (const [org, lanes] of this.waiting) {
      const held = this.held.get(org) ?? 0;
      if (this.shared && held >= free) continue;
      const [first] = lanes;
      if (first === undefined) continue;
      this.delete(first);
      // Its next turn comes after everybody else's.
      if (this.waiting.delete(org)) this.waiting.set(org, lanes);
      this.held.set(org, held + 1);
      this.running += 1;
      return first;
    }
    return undefined;
  }

  /** Gives the place of one that was taken back. */
  release({ org }: Waiting): void {
    this.running -= 1;
    const held = (this.held.get(org) ?? 1) - 1;
    if (held > 0) this.held.set(org, held);
    else this.held.delete(org);
  }
}
