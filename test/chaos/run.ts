import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Random } from '../setup/random.ts';
import { type Finding, readFindings, type Stored } from './checks.ts';
import { Crew } from './crew.ts';
import { type FaultCounts, Faults, type HarmOptions } from './faults.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { MortalRedis } from './mortal-redis.ts';
import { type Moods, MoodyProvider } from './provider.ts';
import { type Recoveries, Tellings } from './tellings.ts';
import { Traffic } from './traffic.ts';
import { findUnexplained } from './unexplained-failures.ts';

export interface ChaosOptions {
  readonly seed: number;
  readonly turns: number;
  readonly conversations: number;
  /** worker processes */
  readonly workers: number;
  /** turns come, and harm is done, for so long at most */
  readonly minutes: number;
  readonly moods: Moods;
  readonly cancels: number;
  readonly byHand: number;
  readonly harm: HarmOptions;
  /** after that: how long nothing may be heard of the workers while something is left under way */
  readonly quietMs: number;
  /** folder of the tree whose code the workers run */
  readonly root?: string | undefined;
  readonly log: (line: string) => void;
}

/** What a run has unless it says otherwise. A pass may be parked for a minute; then the sweeper looks. */
export const USUAL = {
  workers: 4,
  moods: { faults: 0.04, refusals: 0.05, clerkMs: 150, recorderMs: 400 },
  cancels: 0.05,
  byHand: 0.03,
  harm: { pace: 1 },
  quietMs: 120_000,
  log: () => undefined,
} satisfies Partial<ChaosOptions>;

export interface ChaosReport {
  readonly seed: number;
  readonly seconds: number;
  /** by state */
  readonly turns: Readonly<Record<string, number>>;
  /** by code */
  readonly failures: Readonly<Record<string, number>>;
  readonly conversations: number;
  /** versions in Redis, by strategy of their pass, or by cause */
  readonly versions: Readonly<Record<string, number>>;
  /** as the workers told; of one that was killed with its last word unsaid there is none */
  readonly passes: Readonly<Record<string, number>>;
  readonly hardPasses: number;
  readonly harm: Readonly<FaultCounts>;
  readonly provider: { readonly faults: number; readonly refusals: number };
  readonly summaries: { readonly made: number; readonly again: number };
  readonly recoveries: Recoveries;
  /** ms from the end of the harm until nothing was left under way */
  readonly quietMs: number;
  readonly findings: readonly Finding[];
}

const SHARDS = 16;
const PROGRESS_MS = 10_000;
const LOOK_MS = 1_000;
/** A machine that has much to do is slow; what goes round and round is not waited for. */
const MOST_QUIETS = 8;

/** Real workers on a real Redis, harm of every kind for as long as there are turns, then what Redis holds is checked. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, workers, root, quietMs } = options;
  const random = new Random(seed);
  const tellings = new Tellings();
  await using stack = new AsyncDisposableStack();
  const redis = stack.adopt(await MortalRedis.start(), (server) => server.stop());
  const proxy = stack.adopt(await FaultyProxy.listen(redis.port), (open) => open.close());
  const provider = stack.adopt(await MoodyProvider.start(random.fork(), options.moods), (open) => open.stop());
  const direct = stack.adopt(new Redis(redis.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 }), (open) =>
    open.disconnect(),
  );
  direct.on('error', () => undefined);
  const urls = { redisUrl: proxy.url, providerUrl: provider.url };
  const crew = stack.adopt(await Crew.start({ size: workers, shards: SHARDS, root, tellings, ...urls }), (open) =>
    open.stop(),
  );
  const traffic = stack.adopt(
    await Traffic.open({ ...options, redisUrl: proxy.url, shards: SHARDS, random: random.fork() }),
    (open) => open.close(),
  );
  const faults = new Faults({ crew, redis, proxy, direct }, random.fork(), options.harm);
  const startMs = Date.now();
  const talk = traffic.run();
  const harm = faults.run();
  const tell = setInterval(() => {
    const { workerKills, redisKills } = faults.counts;
    options.log(`${traffic.accepted.length} turns accepted, ${workerKills} workers and ${redisKills} Redis killed`);
  }, PROGRESS_MS);
  try {
    const time = sleep(options.minutes * 60_000, undefined, { ref: false });
    // Harm that cannot be undone ends the run.
    await Promise.race([talk, time, harm.then(() => time)]);
    traffic.endIntake();
    faults.stop();
    provider.calm();
    await harm;
    const quietSinceMs = Date.now();
    tellings.heardAt = quietSinceMs;
    const isStill = (): boolean =>
      Date.now() > Math.min(tellings.heardAt + quietMs, quietSinceMs + MOST_QUIETS * quietMs);
    await Promise.race([talk, until(isStill)]);
    traffic.stop();
    const stored = await readWhenQuiet(direct, traffic, isStill);
    const completed = keysOf(stored, 'completed');
    const again = [...provider.paid.values()].reduce((sum, count) => sum + count - 1, 0);
    return {
      seed,
      seconds: Math.round((Date.now() - startMs) / 1_000),
      turns: countStates(stored),
      failures: countFailures(stored),
      conversations: stored.conversations.length,
      versions: countCauses(stored),
      passes: tellings.passes,
      hardPasses: tellings.hardPasses,
      harm: faults.counts,
      provider: { faults: provider.faults, refusals: provider.refusals },
      summaries: { made: provider.paid.size, again },
      recoveries: tellings.recoveries,
      quietMs: Date.now() - quietSinceMs,
      findings: [
        ...stored.findings,
        ...findUnexplained(stored.conversations, tellings),
        ...tellings.findFalseLosses(completed),
        ...crew.crashes.map((detail) => ({ rule: 'no worker ends by itself', conversation: '', detail })),
        ...checkPaid(again, faults.counts),
      ],
    };
  } finally {
    clearInterval(tell);
    faults.stop();
    traffic.stop();
    await harm;
  }
}

/** Passes go on behind the last turn: it is looked at until nothing is found, or nothing moves any more. */
async function readWhenQuiet(redis: Redis, { accepted }: Traffic, isStill: () => boolean): Promise<Stored> {
  for (;;) {
    const isLast = isStill();
    const stored = await readFindings(redis, SHARDS, accepted);
    if (stored.findings.length === 0 || isLast) return stored;
    await sleep(LOOK_MS);
  }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(LOOK_MS, undefined, { ref: false });
}

/** A summary is lost between its payment and its record with the process that paid, or with its claim while that stands still. */
function checkPaid(again: number, { workerKills, freezes, redisKills }: FaultCounts): Finding[] {
  const chances = workerKills + freezes + redisKills;
  if (again <= chances) return [];
  const detail = `${again} summaries were paid for again, with ${chances} chances to lose one`;
  return [{ rule: 'what was recorded is not paid for again', conversation: '', detail }];
}

function keysOf({ conversations }: Stored, state: string): Set<string> {
  const keys = conversations.flatMap(({ id, turns }) =>
    [...turns].filter(([, fields]) => fields['state'] === state).map(([turn]) => `${id}/${turn}`),
  );
  return new Set(keys);
}

function countStates({ conversations }: Stored): Record<string, number> {
  return tally(conversations.flatMap(({ turns }) => [...turns.values()].map(({ state = 'gone' }) => state)));
}

function countFailures({ conversations }: Stored): Record<string, number> {
  const failures = conversations.flatMap(({ turns }) => [...turns.values()].flatMap(({ failure = [] }) => failure));
  return tally(failures.map((failure) => (JSON.parse(failure) as { code: string }).code));
}

function countCauses({ conversations }: Stored): Record<string, number> {
  return tally(
    conversations.flatMap(({ versions }) =>
      versions.map(({ cause, strategy }) => (cause === 'pass' ? strategy : cause)),
    ),
  );
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
