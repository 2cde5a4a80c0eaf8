/** Moment of a chat stream at which a fault can come: before its request, before its answer, and before each frame. */
export type Moment = 'request' | 'answer' | 'frame';

export type OnMoment = (moment: Moment) => 'pass' | 'cut';

/** A `fetch` that can lose the requests of a chat stream, their answers, and each frame of their answers. */
export function createCutFetch(
  serve: (request: Request) => Promise<Response> | Response,
  onMoment: OnMoment,
): typeof fetch {
  return async (target, init) => {
    const path = target instanceof Request ? target.url : target.toString();
    const request = new Request(new URL(path, 'http://127.0.0.1'), init);
    request.headers.set('host', '127.0.0.1');
    if (!isStream(request)) return await serve(request);
    if (onMoment('request') === 'cut') throw new TypeError('the request was lost');
    const response = await serve(request);
    const { body, status, headers } = response;
    if (onMoment('answer') === 'cut') {
      await body?.cancel();
      throw new TypeError('the answer was lost');
    }
    return new Response(body && cutFrames(body, () => onMoment('frame') === 'cut'), { status, headers });
  };
}

function isStream({ method, url }: Request): boolean {
  const { pathname } = new URL(url);
  return pathname.endsWith('/stream') || (method === 'POST' && pathname === '/v1/chat');
}

/** Cuts in front of a frame, or in its middle. */
function cutFrames(body: ReadableStream<Uint8Array>, meet: () => boolean): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await reader.read();
        if (done) return controller.close();
        const frames = decoder.decode(value, { stream: true }).split(/(?<=\n\n)/);
        for (const frame of frames) {
          if (meet()) {
            controller.enqueue(encoder.encode(frame.slice(0, frame.length / 2)));
            await reader.cancel();
            return controller.error(new TypeError('the connection was cut'));
          }
          controller.enqueue(encoder.encode(frame));
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
