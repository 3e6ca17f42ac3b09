/**
 * Gives orders to a box's first process: lines on its input, which the daemon keeps open when a service goes. One stream at a
 * time, opened again when it broke. An order that asks for an answer gets it with the records that the box prints.
 */
import type { Duplex } from 'node:stream';
import { randomUUID } from 'node:crypto';
import type { Container } from 'dockerode';
import { EngineRefusal } from '../shared/refusal.js';
import { twoWays } from './daemon.js';

/** A box answers in milliseconds; one whose first process is stuck or taken over does not. */
const ANSWER_MS = 15_000;

export interface Answer {
  readonly answer: string;
  readonly message: string;
}

const GONE: Answer = { answer: 'NotRunning', message: '' };

export class Control {
  private readonly container: Container;
  private opening: Promise<Duplex> | undefined;
  private phase: 'open' | 'ended' | 'closed' = 'open';
  private readonly waiting = new Map<
    string,
    { readonly done: (answer: Answer) => void; readonly failed: (why: Error) => void }
  >();

  constructor(container: Container) {
    this.container = container;
  }

  /** Resolves when the daemon has taken the lines, or nobody is left to hear them. */
  async send(lines: string): Promise<void> {
    if (this.phase === 'ended') return;
    const stream = await this.stream();
    await new Promise<void>((done, failed) => {
      const over = (error?: Error | null): void => (error == null || this.phase === 'ended' ? done() : failed(error));
      const broken = (): void => over(new Error('the way to the box broke'));
      stream.once('close', broken);
      stream.write(lines, (error) => {
        stream.removeListener('close', broken);
        over(error);
      });
    });
  }

  /** Throws EngineRefusal when there is no answer in time, or another service has taken over. */
  async ask(line: (request: string) => string, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    if (this.phase === 'ended') return GONE;
    const request = randomUUID();
    let timer: NodeJS.Timeout | undefined;
    let abort = (): void => undefined;
    try {
      const answer = new Promise<Answer>((done, failed) => {
        this.waiting.set(request, { done, failed });
        timer = setTimeout(() => failed(new EngineRefusal('Unavailable', 'the box does not answer')), ANSWER_MS);
        abort = () => failed(signal.reason as Error);
        signal.addEventListener('abort', abort, { once: true });
      });
      answer.catch(() => undefined);
      await this.send(line(request));
      const answered = await answer;
      if (answered.answer === 'Stale') throw new EngineRefusal('StaleEpoch', 'the box obeys a later process');
      return answered;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      this.waiting.delete(request);
    }
  }

  answered(request: string, answer: Answer): void {
    this.waiting.get(request)?.done(answer);
  }

  /** The box is gone. */
  end(): void {
    if (this.phase === 'open') this.phase = 'ended';
    for (const { done } of this.waiting.values()) done(GONE);
    this.hangUp();
  }

  /** Nobody here gives it orders any more. */
  close(): void {
    this.phase = 'closed';
    for (const { failed } of this.waiting.values()) failed(closed());
    this.hangUp();
  }

  private hangUp(): void {
    void this.opening?.then((stream) => stream.destroy()).catch(() => undefined);
  }

  private stream(): Promise<Duplex> {
    if (this.phase === 'closed') return Promise.reject(closed());
    this.opening ??= this.open();
    return this.opening;
  }

  private async open(): Promise<Duplex> {
    try {
      const attached = await twoWays((abortSignal) =>
        this.container.attach({ stream: true, stdin: true, hijack: true, abortSignal }),
      );
      const stream = attached as Duplex;
      stream.on('error', () => undefined);
      // As many wait for it as commands begin at once.
      stream.setMaxListeners(0);
      stream.once('close', () => {
        this.opening = undefined;
      });
      stream.resume();
      // Podman hands on the body of the request, which is none of ours: here that line ends.
      stream.write('\n');
      return stream;
    } catch (error) {
      this.opening = undefined;
      throw error;
    }
  }
}

function closed(): EngineRefusal {
  return new EngineRefusal('Unavailable', 'the engine is closed');
}
