import type { ModelRequest } from '../domain/model.ts';
import type { WatchedRequest } from './first-event.ts';

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
