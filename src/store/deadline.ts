import { setTimeout as sleep } from 'node:timers/promises';

/** What the work answers, or `late` where that takes longer; the work goes on. @throws what it throws until then */
export async function inTime<Answer, Late>(work: Promise<Answer>, ms: number, late: Late): Promise<Answer | Late> {
  const ended = new AbortController();
  const lateness = sleep(ms, late, { signal: ended.signal });
  lateness.catch(() => undefined); // aborted below
  try {
    return await Promise.race([work, lateness]);
  } finally {
    ended.abort();
  }
}
