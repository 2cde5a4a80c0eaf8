import { once } from 'node:events';
import type { OpenClient } from '../../api/client/index.ts';
import { createHttpApp } from '../../api/http/app.ts';
import { createProtocols } from '../../api/http/protocols.ts';
import { type HttpServer, serveHttp } from '../../api/http/serve-http.ts';
import { withPage } from '../../api/http/static-page.ts';
import type { Agent } from '../../domain/agent.ts';
import { fieldError } from '../../domain/errors.ts';
import type { EventListener } from '../../domain/events.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import type { PassMeasure } from '../../domain/pass-events.ts';
import type { PolicyInput } from '../../domain/policy.ts';
import { readConfig } from '../../host/config.ts';
import { resolveModel } from '../../host/resolve-model.ts';
import { combineListeners } from '../../telemetry/listeners.ts';
import { createLogger, logEvents } from '../../telemetry/logs.ts';
import { withAllInOne } from '../all-in-one.ts';
import { createWorkspaceAgent } from '../demo/workspace-agent.ts';
import { Prompt } from '../dev/prompt.ts';
import { HELP, LEAVE } from '../dev/slash-commands.ts';
import { Talk } from '../dev/talk.ts';
import { loadAgents } from '../load-agents.ts';
import { readContextOption } from '../option-values.ts';
import type { Output } from '../output.ts';
import { readPolicySources } from '../policy-file.ts';
import type { CommandContext } from '../run-command.ts';

interface DevOptions {
  readonly agents?: string;
  readonly agent?: string;
  readonly policy?: string;
  readonly shadow?: string;
  readonly model?: string;
  readonly conversation: string;
  /** Context of the turns: JSON, or `@file`. */
  readonly context?: string;
  /** Port of an HTTP server. Absent: a prompt at the terminal. */
  readonly serve?: number;
  readonly page?: string;
}

const SERVER_GRACE_MS = 1_000;

export async function runDev({ output }: CommandContext, options: DevOptions): Promise<number> {
  const config = readConfig();
  parseInput(idSchema, options.conversation, '--conversation');
  const context = await readContextOption(options.context);
  const sources = await readPolicySources(options, output);
  const { policy } = sources.policy;
  const shadow = sources.shadow && { shadow: sources.shadow.policy };
  const agents = await chooseAgents(options, policy, output);
  const agent = chooseAgent(agents, options.agent);
  const onEvent = combineListeners(logEvents(createLogger({ level: 'warn', isPretty: true })), reportShadow(output));
  const metrics = { ...config.metrics, port: 0 };
  // With `--model`, no module is given: its agents have their own models. A child process that loads the module would
  // lack this model.
  const agentsModule = options.model === undefined ? options.agents : undefined;
  const parts = { config, output, agents, agentsModule, policy, ...shadow, metrics, onEvent };
  return await withAllInOne(parts, async (all) => {
    const { redis, workers, client, interrupted, takeInterrupts } = all;
    output.line(`Redis    ${redis.description}`);
    output.line(`metrics  ${workers.metricsUrl ?? 'none'}`);
    output.line(`agents   ${agents.map(({ name }) => name).join(', ')}`);
    if (options.serve !== undefined) {
      const server = await serveDev({ client, agent, port: options.serve, page: options.page });
      output.line(`server   ${server.url}, for this machine only. Ctrl+C stops it`);
      if (!interrupted.aborted) await once(interrupted, 'abort');
      await server.close(SERVER_GRACE_MS);
      return 0;
    }
    output.line(`Type a message to ${agent}, ${HELP} for commands or ${LEAVE} to quit.`);
    const talk = new Talk({ client, output, agent, conversation: options.conversation, interrupted, context });
    const prompt = openPrompt(interrupted, () => talk.interrupt());
    takeInterrupts(() => talk.interrupt());
    try {
      await talk.run(prompt);
    } finally {
      prompt.close();
      takeInterrupts(undefined);
    }
    return 0;
  });
}

function reportShadow(output: Output): EventListener {
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
  throw fieldError('invalid_config', '--agent', `there is no agent ${wanted}. Use one of ${names}`);
}

function openPrompt(signal: AbortSignal, onInterrupt: () => void): Prompt {
  // oxlint-disable-next-line no-restricted-properties -- readline shows its prompt and what is typed, nothing else
  const { stdin, stdout } = process;
  return new Prompt({ input: stdin, signal, onInterrupt, ...(stdin.isTTY && { output: stdout }) });
}

interface DevServerOptions {
  readonly client: OpenClient;
  readonly agent: string;
  readonly port: number;
  readonly page?: string | undefined;
}

const HOST = '127.0.0.1';

async function serveDev({ client, agent, port, page }: DevServerOptions): Promise<HttpServer> {
  const app = createHttpApp({ client, authenticate: 'none', protocols: createProtocols({ client, agent }) });
  const fetch = page === undefined ? app.fetch : withPage(page, app.fetch);
  return await serveHttp({ app: { fetch, close: () => app.close() }, host: HOST, port });
}
