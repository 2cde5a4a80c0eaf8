export interface MeasurementOptions<Value> {
  readonly measure: () => Promise<Value>;
  readonly deadlineMs: number;
  /** Receives the error of the measurement, or a timeout. */
  readonly onFailure: (error: unknown) => void;
}

/** Resolves with the measured value, or undefined after a failure. Never rejects. */
export type SharedMeasurement<Value> = () => Promise<Value | undefined>;

/**
 * Shares one running measurement among concurrent callers: gauges with the same source, and overlapping scrapes. A
 * measurement that hangs, e.g. on a lost Redis, is not started again. Otherwise every scrape would add another one.
 */
export function shareMeasurement<Value>(source: MeasurementOptions<Value>): SharedMeasurement<Value> {
  let running: Promise<Value | undefined> | undefined;
  const clear = (): void => {
    running = undefined;
  };
  const begin = (): Promise<Value | undefined> => {
    const measured = Promise.try(source.measure);
    measured.then(clear, clear);
    return waitFor(measured, source);
  };
  return () => {
    running ??= begin();
    return running;
  };
}

async function waitFor<Value>(measured: Promise<Value>, source: MeasurementOptions<Value>): Promise<Value | undefined> {
  const { deadlineMs, onFailure } = source;
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`took more than ${deadlineMs} ms`)), deadlineMs);
  try {
    return await Promise.race([measured, passed]);
  } catch (error) {
    onFailure(error);
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
