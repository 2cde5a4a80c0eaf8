import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../config.ts';
import { createDemoAgent, DEMO_PREFIX, type DemoAgentOptions, type DemoScript } from '../../demo/demo-agent.ts';
import { isCheckout, loadPlaybackScript, loadQuestionScript } from '../../demo/load-script.ts';
import { type DemoRun, describeRuns, plotRuns, summarizeRun } from '../../demo/report.ts';
import { type DemoProgress, runConversation } from '../../demo/run-demo.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import { redactUrl } from '../../local-redis/configured-redis.ts';
import type { LocalRedis } from '../../local-redis/local-redis.ts';
import { resolveModel } from '../../runtime/resolve-model.ts';
import { withAllInOne } from '../all-in-one.ts';
import { readLines } from '../files.ts';
import { forwardInterrupt } from '../interruption.ts';
import { type Output, writeJson } from '../output.ts';
import { describeVersions } from './show.ts';

export interface DemoOptions {
  readonly file?: string;
  readonly json?: boolean;
  /** `provider/model`, instead of the script */
  readonly model?: string;
}

const ROOT = resolve(fileURLToPath(import.meta.url), '../../../..');
const STAY_MS = 60_000;
const BAR_TOKENS = 400;

/**
 * Runs the demo's turns with compaction and, for comparison, without.
 * @returns the exit code: 1 where a call was over the limit or a turn failed
 */
export async function runDemo(options: DemoOptions, output: Output): Promise<number> {
  const config = readConfig();
  const script = options.file === undefined ? await loadQuestionScript(ROOT) : await readPlayback(options.file, output);
  const name = DEMO_PREFIX + Date.now().toString(36);
  const { model } = options;
  const makeModel: DemoAgentOptions['makeModel'] =
    model === undefined ? undefined : (profile) => resolveModel(model, { profile });
  const compacted = createDemoAgent(name, script, { isCompacted: true, makeModel });
  const uncompacted = createDemoAgent(`${name}-off`, script, { isCompacted: false, makeModel });
  const agents = [compacted, uncompacted];
  return await withAllInOne({ config, output, agents }, async ({ redis, client, interrupted }) => {
    output.note(`${script.turns.length} turns, usable window ${script.usable} tokens\n`);
    const run = await runConversation(client, compacted, script, describeProgress(output, script.usable));
    output.note('\nthe same turns with compaction off …');
    const without = await runConversation(client, uncompacted, script, () => undefined);
    report(output, options, { run, without, usable: script.usable });
    await inviteToLook(output, options, { redis, run, interrupted });
    return run.failures.length === 0 && summarizeRun(run, script.usable).overLimit === 0 ? 0 : 1;
  });
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
  const lines = [
    ...plotRuns(run, without, usable),
    '',
    ...describeVersions(run.versions),
    '',
    ...describeRuns(run, without, usable),
  ];
  output.note('');
  // With --json the last line of standard output is for a program; what a person reads goes to standard error.
  const write = options.json ? output.note : output.line;
  for (const line of lines) write(line);
  if (options.json) writeJson(output, summarizeRun(run, usable));
}

/** At a terminal the demo's Redis stays until Enter is pressed, so that the commands have something to show. */
async function inviteToLook(
  output: Output,
  options: DemoOptions,
  { redis, run, interrupted }: { redis: LocalRedis; run: DemoRun; interrupted: AbortSignal },
): Promise<void> {
  if (options.json) return;
  // A given address may hold a password; it stands in the environment already.
  const command = `${redis.source === 'given' ? '' : `REDIS_URL=${redactUrl(redis.url)} `}${nameProgram(ROOT)}`;
  output.line('');
  output.line('To look further:');
  output.line(`  ${command} versions ${run.conversation}`);
  output.line(`  ${command} show ${run.conversation}`);
  if (run.versions.length > 0) output.line(`  ${command} show ${run.conversation} --version 1`);
  output.line(`  ${command} export ${run.conversation}`);
  if (redis.source === 'given') return;
  if (!process.stdin.isTTY) {
    output.line(
      '(this Redis ends with the demo; one of yours in REDIS_URL, where no workers are, keeps what it wrote)',
    );
    return;
  }
  // oxlint-disable-next-line no-restricted-properties -- readline shows a constant prompt, nothing else
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  forwardInterrupt(prompt);
  const signal = AbortSignal.any([AbortSignal.timeout(STAY_MS), interrupted]);
  // Nobody pressed it: an unattended terminal must not keep the demo.
  await prompt.question('\nRedis stays until you press Enter, a minute at most. ', { signal }).catch(() => undefined);
  prompt.close();
}

/** As it is called from a shell, in a checkout or in the project that has the package. */
export function nameProgram(root: string): string {
  return isCheckout(root) ? 'npm run -s turnfold --' : 'npx turnfold';
}

/** The first conversation of the file. @throws invalid_input where it has none */
async function readPlayback(path: string, output: Output): Promise<DemoScript> {
  for await (const { line, number } of readLines(path)) {
    output.note(`playing back line ${number} of ${path}`);
    return await loadPlaybackScript(line, number);
  }
  throw new TurnfoldError('invalid_input', `--file: ${path} holds no conversation`, { field: '--file' });
}
