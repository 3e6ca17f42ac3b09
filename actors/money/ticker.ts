/**
 * Does something again and again, each time `every` ms after the end of the last round, until `stopping` is aborted. A round that fails is
 * reported, once until one works again, and the next does its work. Resolves when the last round has ended. Never rejects.
 */
import { delay } from '../wait.js';

export interface Ticker {
  readonly every: number;
  round(): Promise<void>;
  onProblem(message: string): void;
}

export async function tick({ every, round, onProblem }: Ticker, stopping: AbortSignal): Promise<void> {
  let failing = false;
  while (!stopping.aborted) {
    try {
      await round();
      failing = false;
    } catch (error) {
      if (!failing && !stopping.aborted) onProblem(error instanceof Error ? error.message : 'failed');
      failing = true;
    }
    await delay(every, stopping);
  }
}
