import { useEffect, useRef } from 'preact/hooks';

/**
 * Calls `work` at most once per `pauseMs`, one call after the other, while a person can see the page. A hidden page
 * asks for nothing, and asks at once when it is shown again.
 */
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
