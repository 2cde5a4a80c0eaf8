/** Interval in ms at which a silent stream sends a comment, because proxies end silent connections. */
const KEEP_ALIVE_MS = 15_000;
const COMMENT = ': \n\n';

/**
 * Answers with Server-Sent Events. The next frame is made once the reader took the last one, so a slow reader costs no
 * memory.
 * @param frames receives a signal that aborts when the reader leaves
 */
export function answerEvents(
  frames: (left: AbortSignal) => AsyncIterable<string>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const left = new AbortController();
  const iterator = frames(left.signal)[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<string>> | undefined;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      next ??= iterator.next();
      const frame = await orComment(next);
      if (frame === COMMENT) return controller.enqueue(encoder.encode(COMMENT));
      next = undefined;
      if (frame.done === true) return controller.close();
      controller.enqueue(encoder.encode(frame.value));
    },
    async cancel(reason) {
      left.abort(reason);
      await iterator.return?.();
    },
  });
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      connection: 'keep-alive',
      'x-accel-buffering': 'no',
      ...headers,
    },
  });
}

/** Writes a frame without an event name. */
export function writeData(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

async function orComment(next: Promise<IteratorResult<string>>): Promise<IteratorResult<string> | typeof COMMENT> {
  const { promise, resolve } = Promise.withResolvers<typeof COMMENT>();
  const timer = setTimeout(resolve, KEEP_ALIVE_MS, COMMENT);
  try {
    return await Promise.race([next, promise]);
  } finally {
    clearTimeout(timer);
  }
}
