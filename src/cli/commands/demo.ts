import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import type { OpenClient } from '../../api/client/index.ts';
import { fieldError } from '../../domain/errors.ts';
import { type Config, readConfig } from '../../host/config.ts';
import { redactUrl } from '../../host/local-redis/configured-redis.ts';
import type { LocalRedis } from '../../host/local-redis/local-redis.ts';
import { resolveModel } from '../../host/resolve-model.ts';
import { withAllInOne } from '../all-in-one.ts';
import { createDemoAgent, DEMO_PREFIX, type DemoAgentOptions, type DemoScript } from '../demo/demo-agent.ts';
import { isCheckout, loadPlaybackScript, loadQuestionScript } from '../demo/load-script.ts';
import { type DemoRun, describeRuns, plotRuns, summarizeRun } from '../demo/report.ts';
import { type DemoProgress, runConversation } from '../demo/run-demo.ts';
import { readLines } from '../files.ts';
import { forwardInterrupt } from '../interruption.ts';
import { type Output, reportError, writeJson } from '../output.ts';
import type { CommandContext } from '../run-command.ts';
import { openConfiguredFleet, serveInspector } from './inspect.ts';
import { describeVersions } from './show.ts';

interface DemoOptions {
  readonly file?: string;
  readonly json?: boolean;
  readonly model?: string;
  readonly inspect?: true;
  readonly allowChanges?: true;
}

const ROOT = resolve(fileURLToPath(import.meta.url), '../../../..');
const STAY_MS = 60_000;
const GRACE_MS = 1_000;
const BAR_TOKENS = 400;

/** @returns the exit code: 1 if a request was larger than the window or a turn failed */
export async function runDemo({ output }: CommandContext, options: DemoOptions): Promise<number> {
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
    output.note('\nrunning the same turns without compaction …');
    const without = await runConversation(client, uncompacted, script, () => undefined);
    report(output, options, { run, without, usable: script.usable });
    if (options.inspect === true)
      await inspect({
        config: { ...config, redisUrl: redis.url },
        client,
        output,
        run,
        allowsChanges: options.allowChanges === true,
        interrupted,
      });
    else await inviteToLook(output, options, { redis, run, interrupted });
    return run.failures.length === 0 && summarizeRun(run, script.usable).overLimit === 0 ? 0 : 1;
  });
}

interface Inspected {
  readonly config: Config;
  readonly client: OpenClient;
  readonly output: Output;
  readonly run: DemoRun;
  readonly allowsChanges: boolean;
  readonly interrupted: AbortSignal;
}

async function inspect({ config, client, output, run, allowsChanges, interrupted }: Inspected): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const onError = (error: unknown): void => void reportError(output, error);
  const fleet = stack.adopt(await openConfiguredFleet(config, onError), (opened) => opened.close());
  const server = await serveInspector({ client, fleet, output, host: '127.0.0.1', port: 0, allowsChanges });
  try {
    output.note(`\nThe inspector shows the conversation, until Ctrl-C: ${server.url}/#/c/${run.conversation}`);
    if (!allowsChanges) output.note('The page only reads. To allow changes, add --allow-changes.');
    await once(interrupted, 'abort');
  } finally {
    await server.close(GRACE_MS);
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
  const lines = [
    ...plotRuns(run, without, usable),
    '',
    ...describeVersions(run.versions),
    '',
    ...describeRuns(run, without, usable),
  ];
  output.note('');
  // With `--json`, standard output holds one JSON line only.
  const write = options.json ? output.note : output.line;
  for (const line of lines) write(line);
  if (options.json) writeJson(output, summarizeRun(run, usable));
}

/** At a terminal, the temporary Redis keeps running until Enter is pressed, so that the printed commands work. */
async function inviteToLook(
  output: Output,
  options: DemoOptions,
  { redis, run, interrupted }: { redis: LocalRedis; run: DemoRun; interrupted: AbortSignal },
): Promise<void> {
  if (options.json) return;
  // A REDIS_URL of the environment is not printed, because it may contain a password. The user's shell has it set.
  const command = `${redis.source === 'configured' ? '' : `REDIS_URL=${redactUrl(redis.url)} `}${nameProgram(ROOT)}`;
  output.line('');
  output.line('To look further:');
  output.line(`  ${command} versions ${run.conversation}`);
  output.line(`  ${command} show ${run.conversation}`);
  if (run.versions.length > 0) output.line(`  ${command} show ${run.conversation} --version 1`);
  output.line(`  ${command} export ${run.conversation}`);
  if (redis.source === 'configured') return;
  if (!process.stdin.isTTY) {
    output.line('(This Redis ends with the demo. To keep the data, set REDIS_URL to a Redis without workers.)');
    return;
  }
  // oxlint-disable-next-line no-restricted-properties -- readline shows a constant prompt, nothing else
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  forwardInterrupt(prompt);
  const signal = AbortSignal.any([AbortSignal.timeout(STAY_MS), interrupted]);
  await prompt.question('\nRedis runs until you press Enter, at most one minute. ', { signal }).catch(() => undefined);
  prompt.close();
}

export function nameProgram(root: string): string {
  return isCheckout(root) ? 'npm run -s turnfold --' : 'npx turnfold';
}

async function readPlayback(path: string, output: Output): Promise<DemoScript> {
  for await (const { line, number } of readLines(path)) {
    output.note(`playing back line ${number} of ${path}`);
    return await loadPlaybackScript(line, number);
  }
  throw fieldError('invalid_input', '--file', `${path} has no conversation, expected one JSON conversation per line`);
}
