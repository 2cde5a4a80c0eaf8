import { createInterface } from 'node:readline/promises';
import { readConfig } from '../../config.ts';
import { createWorkspaceAgent } from '../../demo/workspace-agent.ts';
import type { Agent } from '../../domain/agent.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import type { EventListener } from '../../domain/events.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import type { PassMeasure } from '../../domain/pass-events.ts';
import type { PolicyInput } from '../../domain/policy.ts';
import { resolveModel } from '../../runtime/resolve-model.ts';
import { combineListeners } from '../../telemetry/listeners.ts';
import { createLogger, logEvents } from '../../telemetry/logs.ts';
import { withAllInOne } from '../all-in-one.ts';
import type { CommandContext } from '../command-context.ts';
import { forwardInterrupt } from '../interruption.ts';
import { loadAgents } from '../load-agents.ts';
import { type Output, reportError } from '../output.ts';
import { readPolicySources } from '../policy-file.ts';
import { describeTurn } from './follow-turn.ts';
import { showContext, showVersions } from './show.ts';

export interface DevOptions {
  readonly agents?: string;
  readonly agent?: string;
  readonly policy?: string;
  readonly shadow?: string;
  /** `provider/model`, instead of the agents' own */
  readonly model?: string;
  readonly conversation: string;
}

interface Talk {
  readonly agent: string;
  readonly conversation: string;
}

const ANSWER_WAIT_MS = 120_000;
const PASS_WAIT_MS = 20_000;
const LOOK_MS = 50;
const COMMANDS = '/show, /versions and /compact look inside; /quit ends.';

/** A Redis, all workers and a prompt in one process: to try an agent and see what it still knows. */
export async function runDev(options: DevOptions, output: Output): Promise<number> {
  const config = readConfig();
  parseInput(idSchema, options.conversation, '--conversation');
  const sources = await readPolicySources(options, output);
  const { policy } = sources.policy;
  const shadow = sources.shadow && { shadow: sources.shadow.policy };
  const agents = await chooseAgents(options, policy, output);
  const agent = chooseAgent(agents, options.agent);
  const onEvent = combineListeners(logEvents(createLogger({ level: 'warn', isPretty: true })), tellShadow(output));
  const metrics = { ...config.metrics, port: 0 };
  const parts = { config, output, agents, policy, ...shadow, metrics, onEvent };
  return await withAllInOne(parts, async (all) => {
    const { redis, workers, client, interrupted } = all;
    output.line(`Redis    ${redis.description}`);
    output.line(`metrics  ${workers.metricsUrl ?? 'none'}`);
    output.line(`agents   ${agents.map(({ name }) => name).join(', ')}`);
    output.line(`Type a message to ${agent}; ${COMMANDS}`);
    const talk = { agent, conversation: options.conversation };
    await readPrompt(`${agent}> `, interrupted, async (line) => {
      await answerLine({ client, output }, line, talk).catch((error: unknown) => reportError(output, error));
    });
    return 0;
  });
}

/** One line for each pass that a second policy was measured at. */
function tellShadow(output: Output): EventListener {
  const describe = ({ outcome, tokensBefore, tokensAfter }: PassMeasure): string =>
    `${outcome}, ${tokensBefore} → ${tokensAfter} tokens`;
  return (event) => {
    if (event.type !== 'pass_shadowed' || event.shadow === undefined) return;
    output.line(`pass     live: ${describe(event.live)}; shadow: ${describe(event.shadow)}`);
  };
}

async function chooseAgents(
  { agents, model }: DevOptions,
  policy: PolicyInput,
  output: Output,
): Promise<readonly Agent[]> {
  const chosen = model === undefined ? {} : { model: resolveModel(model) };
  return agents === undefined
    ? [createWorkspaceAgent(process.cwd(), { policy, ...chosen })]
    : (await loadAgents(agents, output)).map((agent) => ({ ...agent, ...chosen }));
}

function chooseAgent(agents: readonly Agent[], wanted: string | undefined): string {
  const chosen = wanted === undefined ? agents[0] : agents.find(({ name }) => name === wanted);
  if (chosen !== undefined) return chosen.name;
  const names = agents.map(({ name }) => name).join(', ');
  throw new TurnfoldError('invalid_config', `--agent: no agent ${wanted}; there are ${names}`, { field: '--agent' });
}

/** Lines of standard input, one after the other, until `/quit` or its end. A prompt is only for a person at a terminal. */
async function readPrompt(prompt: string, signal: AbortSignal, answer: (line: string) => Promise<void>): Promise<void> {
  // oxlint-disable-next-line no-restricted-properties -- readline shows its prompt and what is typed, nothing else
  const { stdin, stdout } = process;
  const lines = createInterface({ input: stdin, signal, prompt, ...(stdin.isTTY ? { output: stdout } : {}) });
  forwardInterrupt(lines);
  let isOpen = true;
  lines.once('close', () => {
    isOpen = false;
  });
  const ask = (): void => {
    if (isOpen && stdin.isTTY) lines.prompt();
  };
  ask();
  for await (const line of lines) {
    if (line.trim() === '/quit') break;
    if (line.trim() !== '') await answer(line.trim());
    ask();
  }
  lines.close();
}

async function answerLine(context: CommandContext, line: string, { agent, conversation }: Talk): Promise<void> {
  const { client, output } = context;
  if (!line.startsWith('/')) {
    const { turn } = await client.enqueueTurn({ conversation, agent, input: line });
    const view = await client.result(conversation, turn, { waitMs: ANSWER_WAIT_MS });
    output.line(view.answer?.content ?? describeTurn(view));
    return;
  }
  const reading = { tenant: '_' };
  if (line === '/show') await showContext(context, conversation, reading);
  else if (line === '/versions') await showVersions(context, conversation, reading);
  else if (line === '/compact') await compact(context, conversation);
  else output.line(`no such command: ${line}; ${COMMANDS}`);
}

/** Asks for a pass and tells what came of it. */
async function compact({ client, output }: CommandContext, conversation: string): Promise<void> {
  const before = (await client.versions(conversation)).length;
  const passId = await client.compactNow(conversation);
  const until = Date.now() + PASS_WAIT_MS;
  while ((await client.describe(conversation)).passId === passId && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  const versions = await client.versions(conversation);
  const newest = versions.at(-1);
  if (newest === undefined || versions.length <= before) output.line('no new version: there is nothing to gain');
  else output.line(`version ${newest.number}: ${newest.tokensBefore} → ${newest.tokensAfter} tokens`);
}
