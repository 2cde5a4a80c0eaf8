import { type Model, type ModelAnswer, ModelError, type ModelRequest } from '../domain/model.ts';

/** A request whose caller learns that an answer has started before its text comes. A model may think for minutes. */
export interface WatchedRequest extends ModelRequest {
  readonly onEvent?: () => void;
}

/** Timers as a port, so that tests can advance them. */
export interface Delays {
  /** Calls once after `ms`, unless stopped. */
  after(ms: number, call: () => void): { stop(): void };
}

/** Timers that do not keep the process alive. */
export const systemDelays: Delays = {
  after(ms, call) {
    const timer = setTimeout(call, ms);
    timer.unref();
    return { stop: () => clearTimeout(timer) };
  },
};

/**
 * Fails with `retry` if the model sends no event within `firstEventMs`, whether or not it reacts to its signal. After
 * the first event only the caller's deadline counts.
 * @throws ModelError, or the reason of the request's signal
 */
export async function generateUnlessSilent(
  model: Model,
  request: WatchedRequest,
  { firstEventMs, timers }: { readonly firstEventMs: number; readonly timers: Delays },
): Promise<ModelAnswer> {
  const { signal, onText, onEvent } = request;
  signal.throwIfAborted();
  const call = new AbortController();
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
      // The promise of an async listener is returned, so that its rejection reaches the caller's handler.
      return call.signal.aborted ? undefined : onText?.(piece);
    },
  };
  try {
    return await untilAborted(call.signal, () => model.generate(watched));
  } finally {
    silence.stop();
    signal.removeEventListener('abort', end);
  }
}

/** Runs a call until the signal aborts, whether or not the call reacts to the signal. @throws the signal's reason */
export async function untilAborted<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => aborted.reject(signal.reason);
  // Registered before the call gets the signal, so that this rejection wins over the call's own.
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([call(), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Wraps a text listener so that its errors do not end the answer. */
export function textNotifier(onText: ModelRequest['onText']): (piece: string) => void {
  if (onText === undefined) return () => {};
  return (piece) => {
    if (piece === '') return;
    // The rejection of an async listener is caught here, because an unhandled rejection would end the process.
    new Promise<void>((resolve) => resolve(onText(piece))).catch(() => {});
  };
}

/**
 * Sends a request and passes its events on. Errors of the provider and of the network become coded errors. Errors of
 * the consumer are bugs and pass unchanged.
 * @throws the coded error, or the signal's reason. The SDKs end an aborted stream as if it were complete.
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
