import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type AnswerError, type Query, readRoute } from './client.ts';
import { accessKey } from './key.ts';

/** State of a request. During a repeated request, the value before it stays. */
export interface Answer<Value> {
  readonly value: Value | undefined;
  readonly error: AnswerError | undefined;
  readonly isLoading: boolean;
  /** Sends the request again. If a request is in flight, waits for its answer first, which may be outdated. */
  readonly reload: () => void;
}

interface State<Value> {
  readonly request: string | undefined;
  readonly value?: Value;
  readonly error?: AnswerError;
}

/**
 * Reads a route whenever its path, its query or the key changes. A component that goes away cancels its request.
 * @param path behind `/v1/`. Undefined: nothing is read yet
 */
export function useAnswer<Value>(path: string | undefined, query: Query = {}): Answer<Value> {
  const request = path === undefined ? undefined : JSON.stringify([path, query]);
  const [round, setRound] = useState(0);
  const [state, setState] = useState<State<Value>>({ request: undefined });
  const isInFlight = useRef(false);
  const isStale = useRef(false);
  const key = accessKey.value;
  useEffect(() => {
    if (path === undefined) return undefined;
    const leaving = new AbortController();
    isInFlight.current = true;
    isStale.current = false;
    const read = async (): Promise<void> => {
      try {
        const value = await readRoute<Value>(path, { query, signal: leaving.signal });
        // Another request has replaced this one.
        if (leaving.signal.aborted) return;
        setState({ request, value });
      } catch (error) {
        if (leaving.signal.aborted) return;
        setState((before) => ({
          request,
          error: error as AnswerError,
          ...(before.request === request && before.value !== undefined && { value: before.value }),
        }));
      }
      isInFlight.current = false;
      if (isStale.current) setRound((before) => before + 1);
    };
    void read();
    return () => {
      leaving.abort();
      isInFlight.current = false;
    };
  }, [request, round, key]);
  const isCurrent = state.request === request;
  return {
    value: isCurrent ? state.value : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: request !== undefined && !isCurrent,
    reload: useCallback(() => {
      if (isInFlight.current) isStale.current = true;
      else setRound((before) => before + 1);
    }, []),
  };
}
