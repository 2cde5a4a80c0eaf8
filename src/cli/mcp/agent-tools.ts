import { randomUUID } from 'node:crypto';
import { type CallToolResult, inputRequired, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { CallAnswer } from '../../api/client/index.ts';
import { fieldError } from '../../domain/errors.ts';
import { answerErrors, writeTextResult } from './answers.ts';
import { askForCalls, readDecisions } from './call-decisions.ts';
import { readAbilities } from './client-abilities.ts';
import type { ServedAgents } from './reading-tools.ts';
import { describeEnd } from './turn-answer.ts';
import { followTurn, type NamedTurn, readTaskId, writeTaskId } from './turn-progress.ts';
import { type TurnTask, writeTask } from './turn-tasks.ts';

/** Most clients end a call after a minute. */
const WAIT_SECONDS = 50;

const nameFields = {
  conversation: z.string().min(1).describe('Id of the conversation.'),
  turn: z.string().min(1).describe('Id of the turn.'),
};
const waitSeconds = z
  .number()
  .min(0)
  .max(3_600)
  .default(WAIT_SECONDS)
  .describe('How long to wait for the answer. Then the turn goes on, and `result` reads it.');

const askSchema = z.object({
  message: z.string().min(1).describe('Message for the agent.'),
  conversation: nameFields.conversation.optional().describe('Conversation to continue. Absent: a new one.'),
  waitSeconds,
});

/** A tool for each agent, and those that go on with a turn. */
export function registerAgentTools(server: McpServer, served: ServedAgents): void {
  for (const [tool, agent] of nameAgentTools(served.agents)) {
    const description = `Send a message to the agent ${agent} and read its answer. The turn is durable: it goes on if this call ends early.`;
    // A new message is never a repetition, and the tools of an agent may do anything.
    const annotations = { readOnlyHint: false, destructiveHint: true, openWorldHint: true };
    server.registerTool(tool, { description, inputSchema: askSchema, annotations }, (input, context) =>
      answerErrors(() => ask({ server, ...served }, agent, input, context)),
    );
  }
  server.registerTool(
    'result',
    {
      description: 'Read the answer of a turn, or wait for it.',
      inputSchema: z.object({ ...nameFields, waitSeconds }),
      annotations: { readOnlyHint: true },
    },
    ({ waitSeconds: seconds, ...turn }, context) =>
      answerErrors(() => goOn({ server, ...served }, turn, seconds, context)),
  );
  registerAnswer(server, served);
  server.registerTool(
    'cancel',
    { description: 'Cancel an open turn, even while it runs.', inputSchema: z.object(nameFields) },
    ({ conversation, turn }) =>
      answerErrors(async () => writeTextResult(await served.client.cancel(served.nameOf(conversation), turn))),
  );
}

function registerAnswer(server: McpServer, { client, nameOf }: ServedAgents): void {
  const inputSchema = z.object({
    ...nameFields,
    call: z.string().min(1).describe('Id of the call that the turn waits for.'),
    hash: z.string().optional().describe('Hash of the call, as `result` shows it.'),
    approve: z.boolean().optional().describe('For a call that needs an approval: may it run?'),
    why: z.string().optional().describe('Reason of a denial, which the agent reads.'),
    content: z.string().optional().describe('For a call whose result comes from outside: the result.'),
    isError: z.boolean().default(false),
  });
  const description =
    'Answer a call that a turn waits for, with a decision or a result. Decide on an approval only if a person asked you to.';
  server.registerTool('answer', { description, inputSchema }, ({ conversation, turn, call, hash, ...given }) =>
    answerErrors(async () => {
      const { approve, why, content = '', isError } = given;
      const named = hash === undefined ? {} : { hash };
      const answer: CallAnswer =
        approve === undefined
          ? { content, isError, ...named }
          : { approved: approve, ...(why !== undefined && { why }), ...named };
      return writeTextResult(await client.answer(nameOf(conversation), turn, { [call]: answer }));
    }),
  );
}

/**
 * Names a tool for each agent. Names of tools have fewer characters than names of agents.
 * @throws invalid_input if two agents get the same name
 */
export function nameAgentTools(agents: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const agent of agents) {
    const name = `ask_${agent.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`.slice(0, 64);
    const other = names.get(name);
    if (other !== undefined) {
      const why = `the tools of "${other}" and "${agent}" would both be named ${name}. Serve one of them`;
      throw fieldError('invalid_input', '--agents', why);
    }
    names.set(name, agent);
  }
  return names;
}

interface AskedServer extends ServedAgents {
  readonly server: McpServer;
}

type Asked = CallToolResult | TurnTask | ReturnType<typeof inputRequired>;

/** A client that answers a question sends the same call again, with the turn as its state. */
async function ask(
  served: AskedServer,
  agent: string,
  { message, conversation: given, waitSeconds: seconds }: z.output<typeof askSchema>,
  context: ServerContext,
): Promise<CallToolResult> {
  const { server, client, nameOf, tenant } = served;
  const known = readTaskId(context.mcpReq.requestState<string>() ?? '');
  if (known !== undefined) {
    const name = nameOf(known.conversation);
    const answers = readDecisions(await client.result(name, known.turn), context.mcpReq.inputResponses);
    if (Object.keys(answers).length === 0) return describeEnd(known, await client.result(name, known.turn));
    await client.answer(name, known.turn, answers);
    return await goOn(served, known, seconds, context);
  }
  const conversation = given ?? `mcp-${randomUUID()}`;
  const { turn } = await client.enqueueTurn({
    conversation,
    agent,
    input: message,
    ...(tenant !== undefined && { tenant }),
  });
  if (readAbilities(server, context).takesTasks)
    return asResult(writeTask({ conversation, turn }, await client.result(nameOf(conversation), turn)));
  return await goOn(served, { conversation, turn }, seconds, context);
}

async function goOn(
  served: AskedServer,
  named: NamedTurn,
  seconds: number,
  context: ServerContext,
): Promise<CallToolResult> {
  const view = await followTurn(served, named, seconds * 1_000, context);
  const requests = askForCalls(view);
  const mayAsk =
    context.mcpReq.method === 'tools/call' &&
    readAbilities(served.server, context).isAskable &&
    Object.keys(requests).length > 0;
  if (!mayAsk) return describeEnd(named, view);
  return asResult(inputRequired({ inputRequests: requests, requestState: writeTaskId(named) }));
}

/** The SDK types results of tools without its own other forms. */
function asResult(result: Asked): CallToolResult {
  return result as CallToolResult;
}
