import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { openClient } from '../../client/index.ts';
import { readConfig } from '../../config.ts';
import { createDemoAgent } from '../../demo/demo-agent.ts';
import { loadPlaybackScript, loadQuestionScript } from '../../demo/load-script.ts';
import { type DemoRun, describeVersions, plotRuns, summarizeRun } from '../../demo/report.ts';
import { type DemoProgress, runConversation } from '../../demo/run-demo.ts';
import type { LocalRedis } from '../../local-redis/local-redis.ts';
import { provideRedis } from '../../local-redis/provide-redis.ts';
import { ROLES, startWorkers } from '../../runtime/start-workers.ts';
import { readLines } from '../files.ts';
import { type Output, writeJson } from '../output.ts';

export interface DemoOptions {
  readonly file?: string;
  readonly json: boolean;
}

const ROOT = resolve(fileURLToPath(import.meta.url), '../../../..');
const BAR_TOKENS = 400;

/** Runs the demo's turns with compaction and, for comparison, without. @returns the exit code: 1 where a call was over the limit */
export async function runDemo(options: DemoOptions, output: Output): Promise<number> {
  const config = readConfig();
  const script =
    options.file === undefined
      ? await loadQuestionScript(ROOT)
      : await loadPlaybackScript(await readFirstLine(options.file));
  const stamp = Date.now().toString(36);
  const compacted = createDemoAgent(`demo-${stamp}`, script, true);
  const uncompacted = createDemoAgent(`demo-${stamp}-off`, script, false);
  const redis = await provideRedis({
    ...(config.redisUrl === undefined ? {} : { redisUrl: config.redisUrl }),
    log: output.note,
  });
  const settings = { redisUrl: redis.url, shards: config.shards, queueShards: config.queueShards };
  try {
    output.note(`Redis: ${redis.description}`);
    const workers = await startWorkers({
      ...settings,
      agents: [compacted, uncompacted],
      roles: ROLES,
      concurrency: config.concurrency,
      shutdownMs: config.shutdownMs,
    });
    const client = await openClient(settings);
    try {
      output.note(`${script.turns.length} turns, usable window ${script.usable} tokens\n`);
      const run = await runConversation(client, compacted, script, describeProgress(output, script.usable));
      output.note('\nthe same turns with compaction off …');
      const without = await runConversation(client, uncompacted, script, () => undefined);
      report(output, options, { run, without, usable: script.usable });
      await inviteToLook(output, options, redis, run.conversation);
      return summarizeRun(run, script.usable).overLimit === 0 ? 0 : 1;
    } finally {
      await client.close();
      await workers.close();
    }
  } finally {
    await redis.stop();
  }
}

function describeProgress(output: Output, usable: number): (progress: DemoProgress) => void {
  return ({ number, of, tokens, version, view }) => {
    const bar = '█'.repeat(Math.round(tokens / BAR_TOKENS)).padEnd(Math.round(usable / BAR_TOKENS), '·');
    const state = view.state === 'completed' ? '' : `  ${view.state} ${view.failure?.code ?? ''}`;
    output.note(
      `turn ${String(number).padStart(3)}/${of}  ${bar} ${String(tokens).padStart(6)} tokens  version ${version}${state}`,
    );
  };
}

function report(
  output: Output,
  options: DemoOptions,
  { run, without, usable }: { run: DemoRun; without: DemoRun; usable: number },
): void {
  const summary = summarizeRun(run, usable);
  const unsent = without.requests.filter(({ isSent }) => !isSent).length;
  const lines = [
    '',
    ...plotRuns(run, without, usable),
    '',
    ...describeVersions(run.versions),
    '',
    `${run.appended} tokens in the log, at most ${summary.tokensPeak} in a request, ${summary.tokensEnd} at the end; ${summary.overLimit} calls over the limit`,
    `without compaction ${unsent} calls exceed the window, and ${without.failedTurns} of ${without.turns} turns fail`,
  ];
  // With --json the last line of standard output is for a program; what a person reads goes to standard error.
  const write = options.json ? output.note : output.line;
  for (const line of lines) write(line);
  if (options.json) writeJson(output, summary);
}

/** At a terminal the demo's Redis stays until Enter is pressed, so that the commands have something to show. */
async function inviteToLook(
  output: Output,
  options: DemoOptions,
  redis: LocalRedis,
  conversation: string,
): Promise<void> {
  if (options.json) return;
  const command = `REDIS_URL=${redis.url} npm run -s turnfold --`;
  output.line('');
  output.line('To look further:');
  output.line(`  ${command} versions ${conversation}`);
  output.line(`  ${command} show ${conversation}`);
  output.line(`  ${command} show ${conversation} --version 1`);
  output.line(`  ${command} export ${conversation}`);
  if (redis.source === 'given') return;
  if (!process.stdin.isTTY) {
    output.line('(this Redis ends with the demo; set REDIS_URL to one of yours to keep what it wrote)');
    return;
  }
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  await prompt.question('\nRedis stays until you press Enter. ');
  prompt.close();
}

async function readFirstLine(path: string): Promise<string> {
  for await (const { line } of readLines(path)) return line;
  return '{"messages":[]}';
}
