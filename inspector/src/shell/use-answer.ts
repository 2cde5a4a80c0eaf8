import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Path, type Query, readRoute, type TurnfoldError } from './client.ts';
import { accessKey } from './key.tsx';

/**
 * Panels read with two hooks: `useAnswer` reads one route, and `useReading` makes one value of several requests.
 *
 * A panel reads whole answers again, and no answer is cached. `usePulse` repeats a read by time. `useLiveAnswer` of
 * `live-conversation.ts` repeats a read after each change of the conversation. While a read repeats, its last value
 * stays on the page.
 */
export interface Answer<Value> {
  readonly value: Value | undefined;
  readonly error: TurnfoldError | undefined;
  readonly isLoading: boolean;
  /** Reads again. If a request is in flight, the new read starts after its answer, which may be outdated. */
  readonly reload: () => void;
}

/** @param path if undefined, the hook reads nothing */
export function useAnswer<Value>(path: Path | undefined, query: Query = {}): Answer<Value> {
  const request = path === undefined ? undefined : JSON.stringify([path, query]);
  return useReading(request, (signal) => readRoute<Value>(path ?? [], query, signal));
}

interface Outcome<Value> {
  readonly request: string | undefined;
  readonly value?: Value;
  readonly error?: TurnfoldError;
}

/**
 * Calls `read` whenever `request` or the key changes.
 * @param keepsValue true: the value stays until another request has its answer
 */
export function useReading<Value>(
  request: string | undefined,
  read: (signal: AbortSignal) => Promise<Value>,
  keepsValue = false,
): Answer<Value> {
  const [round, setRound] = useState(0);
  const [outcome, setOutcome] = useState<Outcome<Value>>({ request: undefined });
  const isInFlight = useRef(false);
  const isStale = useRef(false);
  const key = accessKey.value;
  useEffect(() => {
    if (request === undefined) return undefined;
    const leaving = new AbortController();
    isInFlight.current = true;
    isStale.current = false;
    const run = async (): Promise<void> => {
      try {
        const value = await read(leaving.signal);
        if (leaving.signal.aborted) return;
        setOutcome({ request, value });
      } catch (error) {
        if (leaving.signal.aborted) return;
        setOutcome((before) => ({ ...(before.request === request && before), request, error: error as TurnfoldError }));
      }
      isInFlight.current = false;
      if (isStale.current) setRound((before) => before + 1);
    };
    void run();
    return () => {
      leaving.abort();
      isInFlight.current = false;
    };
  }, [request, round, key]);
  const isCurrent = outcome.request === request;
  return {
    value: isCurrent || keepsValue ? outcome.value : undefined,
    error: isCurrent ? outcome.error : undefined,
    isLoading: request !== undefined && !isCurrent,
    reload: useCallback(() => {
      if (isInFlight.current) isStale.current = true;
      else setRound((before) => before + 1);
    }, []),
  };
}

/** Calls `work` once per `pauseMs` while a person can see the page, and as soon as a hidden page is shown again. */
export function usePulse(work: () => void, pauseMs: number): void {
  const current = useRef(work);
  current.current = work;
  useEffect(() => {
    const beat = (): void => {
      if (document.visibilityState === 'visible') current.current();
    };
    const timer = setInterval(beat, pauseMs);
    document.addEventListener('visibilitychange', beat);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', beat);
    };
  }, [pauseMs]);
}
