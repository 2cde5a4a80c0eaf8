import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type OpenClient, openClient } from '../src/api/client/index.ts';
import { isSettled } from '../src/domain/turn.ts';
import { readConfig } from '../src/host/config.ts';

const USAGE = `npm run load -- [--url redis://…] [--turns 1000] [--rate 20] [--conversations 50] [--agent workspace] [--wait 120].
  Enqueues turns at a rate and reports the outcome.
  --url   Redis of the workers (default: REDIS_URL).
  --wait  Seconds that a turn may take. Exit code 1 if a turn is not completed by then`;

/** Commands that the demo's agent runs. Both files exist in a checkout and in the container image. */
const COMMANDS = ['list .', 'read package.json', 'search version in package.json', 'read package.json'];
/** Long answers without tool calls have nothing to summarize, so compaction evicts from such conversations. */
const TALK = 'Tell me once more what was agreed, and do not leave out who asked for it. '.repeat(16);
const TALKING_SHARE = 5;

interface Load {
  readonly url: string;
  readonly turns: number;
  readonly ratePerSecond: number;
  readonly conversations: number;
  readonly agent: string;
  readonly waitMs: number;
}

interface Outcome {
  /** Final state of the turn, or the code of the error that refused it. */
  readonly end: string;
  readonly tookMs: number;
}

async function main(): Promise<void> {
  const load = readLoad(process.argv.slice(2));
  const { redisTls, prefix, shards, queueShards } = readConfig();
  const client = await openClient({ redisUrl: load.url, redisTls, prefix, shards, queueShards });
  try {
    const startedAt = performance.now();
    const outcomes = await sendAll(client, load);
    report(outcomes, performance.now() - startedAt);
  } finally {
    await client.close();
  }
}

function readLoad(args: readonly string[]): Load {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      url: text(readConfig().redisUrl ?? 'redis://127.0.0.1:6379'),
      turns: text('1000'),
      rate: text('20'),
      conversations: text('50'),
      agent: text('workspace'),
      wait: text('120'),
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    process.stdout.write(`${USAGE}\n`);
    process.exit(0);
  }
  return {
    url: values.url,
    turns: readNumber('--turns', values.turns),
    ratePerSecond: readNumber('--rate', values.rate),
    conversations: readNumber('--conversations', values.conversations),
    agent: values.agent,
    waitMs: readNumber('--wait', values.wait) * 1_000,
  };
}

function readNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new Error(`${name}: '${text}' is not a number above 0\n${USAGE}`);
}

/**
 * Sends turns at a fixed rate, whatever the workers do. A load that waited for answers would never build up a backlog.
 */
async function sendAll(client: OpenClient, load: Load): Promise<readonly Outcome[]> {
  const run = Date.now().toString(36);
  const startedAt = performance.now();
  let settled = 0;
  const underWay: Promise<Outcome>[] = [];
  const progress = setInterval(() => process.stderr.write(`${underWay.length} sent, ${settled} ended\n`), 5_000);
  try {
    for (let index = 0; index < load.turns; index += 1) {
      const aheadMs = (index * 1_000) / load.ratePerSecond - (performance.now() - startedAt);
      if (aheadMs > 1) await sleep(aheadMs);
      const turn = send(client, load, run, index);
      void turn.then(() => (settled += 1));
      underWay.push(turn);
    }
    return await Promise.all(underWay);
  } finally {
    clearInterval(progress);
  }
}

async function send(client: OpenClient, load: Load, run: string, index: number): Promise<Outcome> {
  const number = index % load.conversations;
  const conversation = `load-${run}-${number}`;
  const round = Math.floor(index / load.conversations);
  const input = number % TALKING_SHARE === 0 ? `${round}. ${TALK}` : (COMMANDS[round % COMMANDS.length] ?? TALK);
  const startedAt = performance.now();
  const end = await client
    .enqueueTurn({ conversation, agent: load.agent, input })
    .then(({ turn }) => client.result(conversation, turn, { waitMs: load.waitMs }))
    .then(({ state }) => (isSettled(state) ? state : `still ${state}`))
    .catch((error: unknown) => `error: ${error instanceof Error ? error.message : String(error)}`);
  return { end, tookMs: performance.now() - startedAt };
}

function report(outcomes: readonly Outcome[], tookMs: number): void {
  const ends = Object.entries(Object.groupBy(outcomes, ({ end }) => end));
  const times = outcomes.map((outcome) => outcome.tookMs).toSorted((a, b) => a - b);
  const at = (share: number): string => (times[Math.round((times.length - 1) * share)] ?? 0).toFixed(0);
  process.stdout.write(
    `${ends.map(([end, those]) => `${those?.length ?? 0} ${end}`).join(', ')} in ${(tookMs / 1_000).toFixed(1)} s: ` +
      `${((outcomes.length * 1_000) / tookMs).toFixed(1)} turns/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms\n`,
  );
  if (outcomes.some(({ end }) => end !== 'completed')) process.exitCode = 1;
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
