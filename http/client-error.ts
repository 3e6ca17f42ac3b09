/** Answers what Node's parser of HTTP refuses before there is a request: by a `Status`, after which the connection ends. */
import type { Socket } from 'node:net';
import { docsPath } from '../src/api/errors/status.js';

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly message: string;
  readonly fix: string;
}

/** By the parser's code. */
const ANSWERS: ReadonlyMap<string | undefined, Answer> = new Map([
  [
    'HPE_INVALID_METHOD',
    {
      status: 400,
      text: 'Bad Request',
      message: 'the method of the request is not known',
      fix: 'Use GET, HEAD, POST, PUT, PATCH or DELETE, in capital letters.',
    },
  ],
  [
    'HPE_HEADER_OVERFLOW',
    {
      status: 431,
      text: 'Request Header Fields Too Large',
      message: 'the request line and the headers are larger than 32 KiB',
      fix: 'Send fewer or shorter headers, cookies and query parameters.',
    },
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    {
      status: 408,
      text: 'Request Timeout',
      message: 'the headers of the request did not arrive in time',
      fix: 'Send the request again, all of its headers at once.',
    },
  ],
]);

const MALFORMED: Answer = {
  status: 400,
  text: 'Bad Request',
  message: 'the request is not valid HTTP',
  fix: 'Send a request of HTTP/1.1; for https use the port of https.',
};

/** `docsBase`: the address of the service, empty where it is not set, since no Host has been read. */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  { requestId, docsBase }: { readonly requestId: string; readonly docsBase: string },
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, text, message, fix } = ANSWERS.get(error.code) ?? MALFORMED;
  const body = JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: 'BadRequest',
    details: {},
    code: status,
    docs: docsBase + docsPath('BadRequest'),
    fix,
    requestId,
  });
  socket.end(
    `HTTP/1.1 ${status} ${text}\r\nContent-Type: application/json\r\nX-Request-Id: ${requestId}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
