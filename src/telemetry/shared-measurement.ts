export interface MeasurementOptions<Value> {
  readonly measure: () => Promise<Value>;
  readonly deadlineMs: number;
  /** the measure threw, or its deadline passed */
  readonly onFailure: (error: unknown) => void;
}

/** Measures, or answers undefined where that failed. Never rejects. */
export type SharedMeasurement<Value> = () => Promise<Value | undefined>;

/**
 * One measure for everyone who asks while it runs: the gauges that show parts of it, and scrapes that overlap. A measure
 * that hangs (a client that waits for its Redis) is not begun again until it has ended: else every scrape would add one.
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
