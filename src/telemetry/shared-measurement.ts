interface MeasurementOptions<Value> {
  readonly measure: () => Promise<Value>;
  readonly deadlineMs: number;
  readonly onFailure: (error: unknown) => void;
}

/** Never rejects: resolves with undefined after a failure. */
export type SharedMeasurement<Value> = () => Promise<Value | undefined>;

/** Callers share a running measurement. If Redis hangs, every scrape would otherwise start another. */
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
  const timer = setTimeout(() => reject(new Error(`the measurement took more than ${deadlineMs} ms`)), deadlineMs);
  try {
    return await Promise.race([measured, passed]);
  } catch (error) {
    onFailure(error);
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
