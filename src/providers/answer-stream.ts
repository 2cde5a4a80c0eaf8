import { type Model, type ModelAnswer, ModelError, type ModelRequest } from '../domain/model.ts';

/** `onEvent` is called at each event: a model may think for minutes before its first text. */
export interface WatchedRequest extends ModelRequest {
  readonly onEvent?: () => void;
}

/** Timers that tests can advance. */
export interface Delays {
  /** Calls `call` once after `ms`, unless the returned `stop` was called before. */
  after(ms: number, call: () => void): { stop(): void };
}

export const systemDelays: Delays = {
  after(ms, call) {
    const timer = setTimeout(call, ms);
    timer.unref();
    return { stop: () => clearTimeout(timer) };
  },
};

/**
 * Runs a model call, which fails with `retry` if the model sends no event within `firstEventMs`.
 * @throws ModelError, or the reason of the request's signal
 */
export async function generateUnlessSilent(
  model: Model,
  request: WatchedRequest,
  { firstEventMs, timers }: { readonly firstEventMs: number; readonly timers: Delays },
): Promise<ModelAnswer> {
  const { signal, onText, onReasoning, onToolCall, onEvent } = request;
  signal.throwIfAborted();
  const call = new AbortController();
  const end = (): void => call.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  const silence = timers.after(firstEventMs, () =>
    call.abort(new ModelError('retry', `the model sent nothing within ${firstEventMs} ms`)),
  );
  const whileRunning =
    <Piece>(listen?: (piece: Piece) => void) =>
    (piece: Piece): void => {
      silence.stop();
      return call.signal.aborted ? undefined : listen?.(piece);
    };
  const watched: WatchedRequest = {
    ...request,
    signal: call.signal,
    onEvent() {
      silence.stop();
      onEvent?.();
    },
    onText: whileRunning(onText),
    onReasoning: whileRunning(onReasoning),
    onToolCall: whileRunning(onToolCall),
  };
  try {
    return await untilAborted(call.signal, () => model.generate(watched));
  } finally {
    silence.stop();
    signal.removeEventListener('abort', end);
  }
}

/** Ends when the signal aborts, even if the call does not react to it. @throws the signal's reason */
export async function untilAborted<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => aborted.reject(signal.reason);
  // The listener is added before the call starts, so that the signal's reason wins over the call's own error.
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([call(), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

export type PieceListeners = Required<Pick<ModelRequest, 'onText' | 'onReasoning' | 'onToolCall'>>;

export function pieceListeners({ onText, onReasoning, onToolCall }: ModelRequest): PieceListeners {
  return {
    onText: pieceNotifier(onText),
    onReasoning: pieceNotifier(onReasoning),
    onToolCall: pieceNotifier(onToolCall),
  };
}

function pieceNotifier<Piece>(listen: ((piece: Piece) => void) | undefined): (piece: Piece) => void {
  if (listen === undefined) return () => {};
  return (piece) => {
    if (piece === '') return;
    try {
      const answer: unknown = listen(piece);
      // A rejection of an async listener would end the process.
      if (answer instanceof Promise) answer.catch(() => {});
    } catch {}
  };
}

/**
 * Yields streamed events. Errors of the code that consumes the events are bugs, and stay unchanged.
 * @throws ModelError, or the signal's reason: the SDKs end an aborted stream as if it were complete
 */
export async function* streamEvents<Event>(
  send: () => PromiseLike<AsyncIterable<Event>>,
  { signal, onEvent }: Pick<WatchedRequest, 'signal' | 'onEvent'>,
  classify: (error: unknown) => Error,
): AsyncGenerator<Event, void, undefined> {
  try {
    for await (const event of await send()) {
      onEvent?.();
      yield event;
    }
  } catch (error) {
    throw classify(error);
  }
  signal.throwIfAborted();
}
