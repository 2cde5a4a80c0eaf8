import { type Finding, worstState } from './finding.ts';
import type { Page, PageContent } from './page-server.ts';

/**
 * `/health`: the process is alive, which is said by its answering at all. Whatever Redis does, another process would do no
 * better, so nothing else counts. `/ready`: what it needs to take work, each with its state; 503 where one is wrong.
 */
export function createHealthPages(look: () => Promise<readonly Finding[]>): Readonly<Record<string, Page>> {
  return {
    '/health': () => toJson(200, { status: 'ok' }),
    '/ready': async () => {
      const checks = await look();
      const isReady = worstState(checks) !== 'wrong';
      return toJson(isReady ? 200 : 503, { status: isReady ? 'ready' : 'not_ready', checks });
    },
  };
}

function toJson(status: number, value: unknown): PageContent {
  return { status, contentType: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n` };
}
