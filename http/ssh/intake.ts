/**
 * Hands what SSH clients send to the library in slices, so that what it costs follows its work and not the clients' haste.
 *
 * Why: the library does all that is in one read at once. A packet of 36 bytes costs some 40 µs (decryption, a question, an answer of its
 * own), so a megabyte of them holds the event loop for a second; and nothing need be known of a client for that.
 *
 * All connections share one budget: TURN_MS of work, then a rest of REST times as long. Addresses take turns for slices of SLICE bytes.
 * Answers of one slice leave in one write. A client that does not read its answers is read no further until it does.
 *
 * I10: each connection holds one read of its socket (64 KiB); one that has sent BEFORE_LOGIN bytes without a login is cut.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { OrgRoundRobin } from '../../actors/effects/org-round-robin.js';

/** At most 120 packets. */
const SLICE = 4 * 1024;
const TURN_MS = 1;
const REST = 2;
/** Version, two key exchanges and the keys of a full agent, several times over. */
const BEFORE_LOGIN = 64 * 1024;
const UNSENT = 64 * 1024;

/** Connections with something that waits, by address. */
const turns = new OrgRoundRobin<Intake>(1, false);
let going = false;

function go(): void {
  if (going) return;
  going = true;
  setImmediate(pass);
}

/** Passes slices for TURN_MS, and goes on after the rest. */
function pass(): void {
  const began = performance.now();
  let held = 0;
  for (let next = turns.take(); next !== undefined; next = held < TURN_MS ? turns.take() : undefined) {
    turns.release(next);
    next.passSlice();
    held = performance.now() - began;
  }
  if (held < TURN_MS) going = false;
  else setTimeout(pass, held * REST);
}

/** A connection as the library sees it. Ends and breaks with its socket, which may stay half open for what has come before its end. */
export class Intake extends Duplex {
  /** The address, which takes turns here as orgs do elsewhere. */
  readonly org: string;
  readonly remoteAddress: string | undefined;
  readonly remoteFamily: string | undefined;
  readonly remotePort: number | undefined;
  private readonly socket: Socket;
  private waiting: Buffer | undefined;
  private isWanted = false;
  private isOver = false;
  private leftBeforeLogin = BEFORE_LOGIN;

  constructor(socket: Socket, org: string) {
    super({ writableHighWaterMark: UNSENT, allowHalfOpen: false });
    this.socket = socket;
    this.org = org;
    this.remoteAddress = socket.remoteAddress;
    this.remoteFamily = socket.remoteFamily;
    this.remotePort = socket.remotePort;
    socket.on('data', (chunk: Buffer) => {
      socket.pause();
      this.waiting = chunk;
      this.wait();
    });
    socket.once('end', () => {
      this.isOver = true;
      this.wait();
    });
    socket.once('close', () => this.destroy());
    // What is written after the end of its socket goes nowhere.
    this.on('error', () => undefined);
    socket.pause();
  }

  /** Its client is known from here on. */
  loggedIn(): void {
    this.leftBeforeLogin = Infinity;
  }

  setNoDelay(): this {
    this.socket.setNoDelay(true);
    return this;
  }

  /** One slice to the library, which works on it at once. */
  passSlice(): void {
    if (this.destroyed) return;
    if (this.writableNeedDrain) {
      this.once('drain', () => this.wait());
      return;
    }
    const { waiting } = this;
    if (waiting === undefined) {
      if (this.isOver) this.push(null);
      return;
    }
    const slice = waiting.subarray(0, SLICE);
    this.waiting = waiting.length > SLICE ? waiting.subarray(SLICE) : undefined;
    this.leftBeforeLogin -= slice.length;
    if (this.leftBeforeLogin < 0) {
      this.socket.destroy();
      return;
    }
    this.cork();
    this.push(slice);
    this.uncork();
    this.isWanted = this.readableFlowing === true && this.readableLength === 0;
    this.wait();
  }

  /** Takes its turn when the library wants more and there is more; else reads on. */
  private wait(): void {
    if (!this.isWanted || this.destroyed) return;
    if (this.waiting === undefined && !this.isOver) this.socket.resume();
    else {
      turns.add(this);
      go();
    }
  }

  override _read(): void {
    this.isWanted = true;
    this.wait();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.sent(this.socket.write(chunk), done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.socket.cork();
    let goesOn = true;
    for (const { chunk } of chunks) goesOn = this.socket.write(chunk);
    this.socket.uncork();
    this.sent(goesOn, done);
  }

  private sent(goesOn: boolean, done: () => void): void {
    if (goesOn) done();
    else this.socket.once('drain', done);
  }

  override _final(done: () => void): void {
    this.socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    turns.delete(this);
    this.waiting = undefined;
    this.socket.destroy();
    done(error);
  }
}
