/**
 * The two things that a server has to know and that the library keeps to itself: whether keys are being exchanged, and what a channel is
 * asked for with. A version of the library that has them elsewhere fails here, at the first connection, and not open.
 */
import type { Connection } from 'ssh2';

/**
 * Bytes of the smallest packet for which a channel is opened. Each packet costs some 40 µs whatever is in it, so that a megabyte
 * of output in packets of one byte holds the event loop for 40 s, and in packets of none for good. Clients ask for 16 KiB or more.
 */
export const SMALLEST_PACKET = 4 * 1024;

/** SSH_OPEN_ADMINISTRATIVELY_PROHIBITED. Source: RFC 4254, 5.1. */
const PROHIBITED = 1;

interface Asked {
  readonly sender: number;
  readonly packetSize: number | undefined;
}

interface Protocol {
  /** What the server has said of an exchange of keys that has begun and not ended. */
  readonly _kexinit: Buffer | undefined;
  readonly _handlers: { CHANNEL_OPEN: (protocol: Protocol, asked: Asked) => void };
  channelOpenFail(channel: number, reason: number, description: string): void;
}

/** What is written meanwhile the library keeps, as much as it may be, until the exchange has ended. */
export function isExchangingKeys(client: Connection): boolean {
  const { _kexinit: said } = protocolOf(client);
  return said !== undefined;
}

/** A channel with packets below the bound is refused in words, before the library makes anything of it. */
export function refuseSmallPackets(client: Connection): void {
  const { _handlers: handlers } = protocolOf(client);
  const open = handlers.CHANNEL_OPEN;
  handlers.CHANNEL_OPEN = (protocol, asked) => {
    if (asked.packetSize !== undefined && asked.packetSize >= SMALLEST_PACKET) return open(protocol, asked);
    protocol.channelOpenFail(asked.sender, PROHIBITED, `packets of less than ${SMALLEST_PACKET} bytes are not sent`);
  };
}

function protocolOf(client: Connection): Protocol {
  const protocol = Reflect.get(client, '_protocol') as Partial<Protocol> | undefined;
  const { _handlers: handlers } = protocol ?? {};
  if (protocol === undefined || !('_kexinit' in protocol) || handlers?.CHANNEL_OPEN === undefined)
    throw new Error('this version of the SSH library is not known');
  return protocol as Protocol;
}
