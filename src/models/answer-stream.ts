import { type Model, type ModelAnswer, ModelError, type ModelRequest } from '../domain/model.ts';

/** A request whose caller wants to know that there is somebody, before there is text: a model may think for long. */
export interface WatchedRequest extends ModelRequest {
  /** told each event of the answer, whatever it is of */
  readonly onEvent?: () => void;
}

/** Delays, as a port: tests step them by hand. */
export interface Delays {
  /** calls once after `ms`, unless stopped */
  after(ms: number, call: () => void): { stop(): void };
}

/** The process's own timers. They do not keep it alive. */
export const systemDelays: Delays = {
  after(ms, call) {
    const timer = setTimeout(call, ms);
    timer.unref();
    return { stop: () => clearTimeout(timer) };
  },
};

/**
 * What the model answers, unless it says nothing at all for so long: then it is left behind, whether it ends with its signal
 * or not. From its first event on its caller's time counts alone.
 * @throws ModelError, what the request's signal was aborted with
 */
export async function generateUnlessSilent(
  model: Model,
  request: WatchedRequest,
  { firstEventMs, timers }: { readonly firstEventMs: number; readonly timers: Delays },
): Promise<ModelAnswer> {
  const { signal, onText, onEvent } = request;
  signal.throwIfAborted();
  const call = new AbortController();
  const left = Promise.withResolvers<never>();
  // Before the model can listen: whatever it throws when it is aborted comes second.
  call.signal.addEventListener('abort', () => left.reject(call.signal.reason), { once: true });
  const end = (): void => call.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  const silence = timers.after(firstEventMs, () =>
    call.abort(new ModelError('retry', `no event within ${firstEventMs} ms`)),
  );
  const watched: WatchedRequest = {
    ...request,
    signal: call.signal,
    onEvent() {
      silence.stop();
      onEvent?.();
    },
    onText(piece) {
      silence.stop();
      // Returned, so that what an async listener throws stays where its teller looks for it.
      return call.signal.aborted ? undefined : onText?.(piece);
    },
  };
  try {
    return await Promise.race([model.generate(watched), left.promise]);
  } finally {
    silence.stop();
    signal.removeEventListener('abort', end);
  }
}

/** Tells a listener each piece of an answer's text. What the listener throws is its own: the answer goes on. */
export function tellTo(onText: ModelRequest['onText']): (piece: string) => void {
  if (onText === undefined) return () => {};
  return (piece) => {
    if (piece === '') return;
    // One that is async against its type would end the process with a rejection that nobody handles.
    new Promise<void>((resolve) => resolve(onText(piece))).catch(() => {});
  };
}

/**
 * The same events, with what their source fails with put into a code: a connection, or what came over it. An error of whoever
 * reads them is a bug and stays what it is; another try would not mend it.
 * @throws what the signal was aborted with: a client ends such a stream as if it were whole
 */
export async function* codeFailures<Event>(
  source: AsyncIterable<Event>,
  signal: AbortSignal,
  code: (error: unknown) => Error,
): AsyncGenerator<Event, void, undefined> {
  try {
    yield* source;
  } catch (error) {
    throw code(error);
  }
  signal.throwIfAborted();
}

/** The same events, each of them told as it comes. */
export async function* tellEvents<Event>(
  source: AsyncIterable<Event>,
  onEvent: WatchedRequest['onEvent'],
): AsyncGenerator<Event, void, undefined> {
  for await (const event of source) {
    onEvent?.();
    yield event;
  }
}
