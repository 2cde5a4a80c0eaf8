import type { Metrics } from '../../telemetry/metrics.ts';
import { type Finding, findWrong, worstState } from './finding.ts';
import { type Page, type PageAddress, type PageContent, servePages, textPage } from './page-server.ts';
import { type Check, createReadiness } from './readiness.ts';

/** Pages of a worker. They open before Redis is reachable, and stay open until the last job is done. */
export interface WorkerPages {
  readonly metricsUrl: string | undefined;
  /** Called when the worker starts. From then on `/metrics` shows these metrics, and `/ready` runs these checks. */
  begin(work: { readonly metrics: Pick<Metrics, 'render'>; readonly checks: readonly Check[] }): void;
  /** Called when the worker stops. From then on `/ready` answers 503. */
  stop(): void;
  close(): Promise<void>;
}

const STARTING = findWrong(
  'start',
  'the worker waits for Redis to start',
  'Start Redis, or correct REDIS_URL. The worker waits without a limit.',
);

const STOPPING = findWrong(
  'stop',
  'the worker is stopping and finishes its last jobs',
  'Nothing has to be done: other workers take over.',
);

const NO_PAGES: WorkerPages = {
  metricsUrl: undefined,
  begin: () => undefined,
  stop: () => undefined,
  close: async () => undefined,
};

const notStartedPage: Page = () => textPage(503, 'the worker has not started yet');
const reportStarting = async (): Promise<Finding[]> => [STARTING];
const reportStopping = async (): Promise<Finding[]> => [STOPPING];

/** Without `address`, no pages are served. @throws the errors of `servePages` */
export async function openWorkerPages(address: PageAddress | undefined): Promise<WorkerPages> {
  if (address === undefined) return NO_PAGES;
  let render: Page = notStartedPage;
  let check: () => Promise<readonly Finding[]> = reportStarting;
  const pages = { '/metrics': () => render(), ...createHealthPages(() => check()) };
  const server = await servePages({ ...address, pages });
  return {
    metricsUrl: `http://${server.host}:${server.port}/metrics`,
    begin({ metrics, checks }) {
      render = () => metrics.render();
      check = createReadiness(checks);
    },
    stop() {
      check = reportStopping;
    },
    close: () => server.close(),
  };
}

const STATUSES = { ok: 'ready', warning: 'degraded', wrong: 'not_ready' } as const;

/**
 * `/health` answers 200 even without Redis, because a restart would not cure an outage. `/ready` answers 503 if a check
 * fails, but not for a warning, because taking the process out of service would not help.
 */
export function createHealthPages(runChecks: () => Promise<readonly Finding[]>): Readonly<Record<string, Page>> {
  return {
    '/health': () => toJson(200, { status: 'ok' }),
    '/ready': async () => {
      const checks = await runChecks();
      const worst = worstState(checks);
      return toJson(worst === 'wrong' ? 503 : 200, { status: STATUSES[worst], checks });
    },
  };
}

function toJson(status: number, value: unknown): PageContent {
  return { status, contentType: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n` };
}
