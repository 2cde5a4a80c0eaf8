import { type Model, type ModelAnswer, ModelError, type ModelRequest } from '../domain/model.ts';

/**
 * A request whose caller learns of the start of an answer before its text. A model may think for minutes
 * first.
 */
export interface WatchedRequest extends ModelRequest {
  /** Called for every event of the answer. */
  readonly onEvent?: () => void;
}

/** Timers as a port, so that tests can advance them. */
export interface Delays {
  /** Calls once after `ms`, unless stopped. */
  after(ms: number, call: () => void): { stop(): void };
}

/** Timers of the process. They do not keep it alive. */
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
  const left = Promise.withResolvers<never>();
  // Registered before the model gets the signal, so that this rejection wins over the model's own.
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
      // Returned, so that the rejection of an async listener reaches the caller's handler.
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

/** Wraps a text listener so that its errors do not end the answer. */
export function textNotifier(onText: ModelRequest['onText']): (piece: string) => void {
  if (onText === undefined) return () => {};
  return (piece) => {
    if (piece === '') return;
    // An async listener's unhandled rejection would end the process.
    new Promise<void>((resolve) => resolve(onText(piece))).catch(() => {});
  };
}

/**
 * Passes events on and maps errors of their source. Errors of the consumer are bugs and are not mapped.
 * @throws the signal's reason. The SDKs end an aborted stream as if it were complete.
 */
export async function* mapStreamErrors<Event>(
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

/** Passes events on and notifies the listener of each. */
export async function* notifyEvents<Event>(
  source: AsyncIterable<Event>,
  onEvent: WatchedRequest['onEvent'],
): AsyncGenerator<Event, void, undefined> {
  for await (const event of source) {
    onEvent?.();
    yield event;
  }
}
