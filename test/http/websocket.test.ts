/** The heartbeat of WebSockets: whoever gives no sign is ended, and nobody who is only slow. */
import { EventEmitter } from 'node:events';
import test from 'ava';
import type { WebSocket } from 'ws';
import { closeReason, heartbeat } from '../../http/websocket.js';

function open() {
  const socket = Object.assign(new EventEmitter(), {
    isPaused: false,
    bufferedAmount: 0,
    readyState: 1,
    pings: 0,
    ended: false,
    answered: [] as string[],
    sent: (): void => undefined,
    pong(data: Buffer, _mask: boolean, sent: () => void) {
      socket.answered.push(data.toString());
      socket.sent = sent;
    },
    ping: () => void (socket.pings += 1),
    terminate: () => void (socket.ended = true),
    close: () => undefined,
  });
  const start = performance.now();
  const { sweep } = heartbeat(socket as unknown as WebSocket);
  /** Seconds from now on, one sweep each. */
  const pass = (from: number, to: number): void => {
    for (let second = from; second <= to; second++) sweep(start + second * 1_000);
  };
  return { socket, pass };
}

test('a peer is pinged twice a minute and ended when it answers nothing', (t) => {
  const { socket, pass } = open();
  pass(1, 70);
  t.is(socket.pings, 2);
  t.false(socket.ended);
  pass(71, 80);
  t.true(socket.ended);
});

test('one that we do not read, and one that still takes what waits for it, is not', (t) => {
  const paused = open();
  paused.socket.isPaused = true;
  paused.pass(1, 600);
  t.false(paused.socket.ended);
  const slow = open();
  for (let minute = 0; minute < 10; minute++) {
    slow.socket.bufferedAmount = 1_000 - minute;
    slow.pass(minute * 60 + 1, minute * 60 + 60);
  }
  t.false(slow.socket.ended);
  const stuck = open();
  stuck.socket.bufferedAmount = 1_000;
  stuck.pass(1, 80);
  t.true(stuck.socket.ended);
});

test('the reason of a close fits into its frame', (t) => {
  t.is(closeReason({ reason: 'A', message: 'short' }), '{"reason":"A","message":"short"}');
  t.is(closeReason({ reason: 'A', message: 'é'.repeat(60) }), '{"reason":"A"}');
});

test('a peer that takes no answers is owed one, to its latest ping', (t) => {
  const { socket } = open();
  for (let i = 0; i < 1_000; i += 1) socket.emit('ping', Buffer.from(String(i)));
  t.deepEqual(socket.answered, ['0']);
  socket.sent();
  t.deepEqual(socket.answered, ['0', '999']);
  socket.sent();
  t.is(socket.answered.length, 2);
});
