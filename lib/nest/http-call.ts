import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';

/** What a request carries for the placeholders of a lock's name. */
interface RequestSources {
  params?: unknown;
  body?: unknown;
}

/** Fastify wraps the request and response of Node. */
type Wrapped<T> = T & { raw?: T };

/** The request's part of a template's sources; empty for a call that did not come by HTTP. */
export function httpSources(context: ExecutionContext): RequestSources {
  if (context.getType() !== 'http') return {};
  const { params, body } = context.switchToHttp().getRequest<RequestSources>();
  return { params, body };
}

/** Resolves when the response was sent or nobody can receive it any more; at once for a call that did not come by HTTP. */
export async function responseOver(context: ExecutionContext): Promise<void> {
  if (context.getType() !== 'http') return;
  const http = context.switchToHttp();
  const response = unwrap(http.getResponse<Wrapped<ServerResponse>>());
  const { socket } = unwrap(http.getRequest<Wrapped<IncomingMessage>>());
  if (response.closed || socket.destroyed) return;
  await new Promise<void>((resolve) => {
    const over = (): void => {
      response.off('close', over);
      socket.off('close', over);
      resolve();
    };
    response.once('close', over);
    // A response that waits for its turn on a pipelined connection never learns that the connection is gone.
    socket.once('close', over);
  });
}

function unwrap<T>(object: Wrapped<T>): T {
  return object.raw ?? object;
}
