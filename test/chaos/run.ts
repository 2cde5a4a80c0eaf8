import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Random } from '../setup/random.ts';
import { PAID } from './agent.ts';
import { type Finding, readFindings, type Stored } from './checks.ts';
import { type FaultCounts, FaultInjector } from './fault-injector.ts';
import { FaultyProvider } from './faulty-provider.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { MortalRedis } from './mortal-redis.ts';
import { type ChaosReport, countStored } from './report.ts';
import { Traffic } from './traffic.ts';
import { findUnexplained } from './unexplained-failures.ts';
import { WorkerPool } from './worker-pool.ts';
import { WorkerReports } from './worker-reports.ts';

export interface ChaosOptions {
  readonly seed: number;
  readonly turns: number;
  readonly conversations: number;
  /** Number of worker processes. */
  readonly workers: number;
  /** Limit for the intake of turns and for the faults. */
  readonly minutes: number;
  /** Multiplies the pause between two faults (default 1). */
  readonly pace?: number;
  readonly log?: (line: string) => void;
}

const SHARDS = 16;
const PROGRESS_MS = 10_000;
const CHECK_MS = 1_000;
/** After the faults, the run ends once no worker has reported anything for this time. A pass may be parked for a minute. */
const QUIET_MS = 120_000;
/** Ends a run whose workers repeat the same work forever. */
const MAX_QUIET_MS = 8 * QUIET_MS;

/** Runs worker processes on a real Redis, injects faults as long as turns arrive, then checks what Redis holds. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, workers, pace = 1, log = () => undefined } = options;
  const random = new Random(seed);
  const reports = new WorkerReports();
  await using stack = new AsyncDisposableStack();
  const redis = stack.adopt(await MortalRedis.start(), (server) => server.stop());
  const proxy = stack.adopt(await FaultyProxy.listen(redis.port), (open) => open.close());
  const provider = stack.adopt(await FaultyProvider.start(random.fork()), (open) => open.stop());
  const direct = stack.adopt(new Redis(redis.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 }), (open) =>
    open.disconnect(),
  );
  direct.on('error', () => undefined);
  const urls = { redisUrl: proxy.url, providerUrl: provider.url };
  const pool = stack.adopt(await WorkerPool.start({ size: workers, shards: SHARDS, reports, ...urls }), (open) =>
    open.stop(),
  );
  const traffic = stack.adopt(
    await Traffic.open({ ...options, redisUrl: proxy.url, shards: SHARDS, random: random.fork() }),
    (open) => open.close(),
  );
  const onFault = (from: number, to: number): void => reports.noteFault(from, to);
  const faults = new FaultInjector({ pool, redis, proxy, direct, onFault }, random.fork(), pace);
  const startMs = Date.now();
  const serving = traffic.run();
  const harming = faults.run();
  const progress = setInterval(() => {
    const { workerKills, redisKills } = faults.counts;
    log(`${traffic.accepted.length} turns accepted, ${workerKills} workers and ${redisKills} Redis killed`);
  }, PROGRESS_MS);
  try {
    const time = sleep(options.minutes * 60_000, undefined, { ref: false });
    // A fault that cannot be undone ends the run.
    await Promise.race([serving, time, harming.then(() => time)]);
    traffic.endIntake();
    faults.stop();
    provider.calm();
    await harming;
    const quietSinceMs = Date.now();
    reports.lastAt = quietSinceMs;
    const isStill = (): boolean => Date.now() > Math.min(reports.lastAt + QUIET_MS, quietSinceMs + MAX_QUIET_MS);
    await Promise.race([serving, until(isStill)]);
    traffic.stop();
    const stored = await readWhenQuiet(direct, traffic, isStill);
    const paidAgain = [...provider.paid.values()].reduce((sum, count) => sum + count - 1, 0);
    const findings = [
      ...stored.findings,
      ...findUnexplained(stored.conversations, reports),
      ...reports.findFalseLosses(listCompleted(stored)),
      ...pool.crashes.map((detail) => ({ rule: 'no worker ends by itself', conversation: '', detail })),
      ...checkPaid(paidAgain, faults.counts),
      ...checkDenied(stored, traffic.denied),
    ];
    if (findings.length > 0) {
      redis.keepData();
      log(`the data of Redis: ${redis.folder}`);
    }
    return {
      seed,
      seconds: Math.round((Date.now() - startMs) / 1_000),
      ...countStored(stored),
      passes: reports.passes,
      hardPasses: reports.hardPasses,
      faults: faults.counts,
      provider: { faults: provider.faults, refusals: provider.refusals },
      summaries: { paid: provider.paid.size, paidAgain },
      recoveries: reports.recoveries,
      notices: reports.notices,
      mistakenNotices: reports.mistakenNotices,
      quietMs: Date.now() - quietSinceMs,
      findings,
    };
  } finally {
    clearInterval(progress);
    faults.stop();
    traffic.stop();
    await harming;
  }
}

/** Passes continue after the last turn. So the checks are repeated until they find nothing, or until nothing moves. */
async function readWhenQuiet(redis: Redis, { accepted }: Traffic, isStill: () => boolean): Promise<Stored> {
  for (;;) {
    const isLast = isStill();
    const stored = await readFindings(redis, SHARDS, accepted);
    if (stored.findings.length === 0 || isLast) return stored;
    await sleep(CHECK_MS);
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(CHECK_MS, undefined, { ref: false });
}

/** A summary is paid for again if its worker dies, or loses its claim, between the payment and the record. */
function checkPaid(paidAgain: number, { workerKills, freezes, redisKills }: FaultCounts): Finding[] {
  const chances = workerKills + freezes + redisKills;
  if (paidAgain <= chances) return [];
  const detail = `${paidAgain} summaries were paid for again, with ${chances} faults that can lose one`;
  return [{ rule: 'a recorded summary is not paid for again', conversation: '', detail }];
}

/** A denied call gets a denied result, whatever release of the agent handles the answer. */
function checkDenied({ conversations }: Stored, denied: ReadonlySet<string>): Finding[] {
  return conversations.flatMap(({ id, log }) =>
    log.flatMap(({ message: { toolCallId, content } }) =>
      content === PAID && denied.has(`${id}/${toolCallId}`)
        ? [{ rule: 'a denied call does not run', conversation: id, detail: `the call ${toolCallId} was paid` }]
        : [],
    ),
  );
}

function listCompleted({ conversations }: Stored): Set<string> {
  const keys = conversations.flatMap(({ id, turns }) =>
    [...turns].filter(([, fields]) => fields['state'] === 'completed').map(([turn]) => `${id}/${turn}`),
  );
  return new Set(keys);
}
