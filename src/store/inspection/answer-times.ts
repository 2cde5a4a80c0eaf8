import type { Redis } from 'ioredis';
import { callRedis } from '../connection.ts';

export interface AnswerTimes {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** how far the server's clock is before (or, negative, behind) this process's, in ms */
  readonly skewMs: number;
}

/** Asks for the time so often, one question after the other. The clock is read where the answer was quickest. */
export async function measureAnswers(redis: Redis, count: number): Promise<AnswerTimes> {
  const answers: { readonly tookMs: number; readonly skewMs: number }[] = [];
  for (let asked = 0; asked < count; asked += 1) {
    const sentAt = performance.now();
    const [seconds, microseconds] = await callRedis(() => redis.time());
    const tookMs = performance.now() - sentAt;
    const serverMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    answers.push({ tookMs, skewMs: serverMs - (Date.now() - tookMs / 2) });
  }
  const sorted = answers.toSorted((one, other) => one.tookMs - other.tookMs);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1]?.tookMs ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99), skewMs: sorted[0]?.skewMs ?? 0 };
}
