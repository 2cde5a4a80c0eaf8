import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Path, type Query, readRoute, type TurnfoldError } from './client.ts';
import { accessKey } from './key.tsx';

/** State of a request. During a repeated request, the value before it stays. */
export interface Answer<Value> {
  readonly value: Value | undefined;
  readonly error: TurnfoldError | undefined;
  readonly isLoading: boolean;
  /** Reads again. If a request is in flight, its answer may be outdated, so the next request waits for it. */
  readonly reload: () => void;
}

/**
 * Reads a route whenever its path, its query or the key changes.
 * @param path undefined: nothing is read yet
 */
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
 * Calls `read` whenever `request` or the key changes. Its signal aborts when another request takes its place, and when
 * the component goes away.
 * @param keepsValue true: the value of one request stays until the next one has its answer
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
