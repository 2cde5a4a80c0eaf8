import { createHash, randomUUID } from 'node:crypto';
import { type CallToolResult, inputRequired, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { CallAnswer } from '../../api/client/index.ts';
import { fieldError } from '../../domain/errors.ts';
import { answerErrors, writeTextResult } from './answers.ts';
import { askForCalls, readDecisions } from './call-decisions.ts';
import { readAbilities } from './client-abilities.ts';
import type { ServedAgents } from './reading-tools.ts';
import { readServedTurn } from './served-turns.ts';
import { describeEnd } from './turn-answer.ts';
import { type FollowedTurn, followTurn, readRequestState, writeRequestState } from './turn-progress.ts';
import { type TurnTask, writeTask } from './turn-tasks.ts';

/** Most clients end a call after a minute. */
const WAIT_SECONDS = 50;
/** Field of a request's `_meta` by which tools of turnfold send the same key with each run of one call. */
const KEY = 'turnfold/idempotencyKey';

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

const askSchema = z.strictObject({
  message: z.string().min(1).describe('Message for the agent.'),
  conversation: nameFields.conversation.optional().describe('Conversation to continue. Absent: a new one.'),
  waitSeconds,
});
const resultSchema = z.strictObject({ ...nameFields, waitSeconds });
const cancelSchema = z.strictObject(nameFields);
const answerSchema = z.strictObject({
  ...nameFields,
  call: z.string().min(1).describe('Id of the call that the turn waits for.'),
  hash: z.string().optional().describe('Hash of the call, as `result` shows it. Another call is then refused.'),
  approve: z.boolean().optional().describe('For a call that needs an approval: may it run?'),
  why: z.string().optional().describe('Reason of a denial, which the agent reads.'),
  content: z.string().optional().describe('For a call whose result comes from outside: the result.'),
  isError: z.boolean().optional().describe('true: the result says that the call failed.'),
});

/** A tool for each agent, and those that go on with a turn. */
export function registerAgentTools(server: McpServer, served: ServedAgents): void {
  const asked: AskedServer = { server, ...served };
  for (const [tool, agent] of nameAgentTools(served.agents)) {
    const description = `Send a message to the agent ${agent} and read its answer. The turn is durable: it goes on if this call ends early.`;
    // A new message is never a repetition, and the tools of an agent may do anything.
    const annotations = { readOnlyHint: false, destructiveHint: true, openWorldHint: true };
    server.registerTool(tool, { description, inputSchema: askSchema, annotations }, (input, context) =>
      answerErrors(() => ask(asked, agent, input, context)),
    );
  }
  const reading = { readOnlyHint: true, openWorldHint: false };
  server.registerTool(
    'result',
    {
      description:
        'Read the answer of a turn, or wait for it. If a call of the turn needs an approval, a person decides.',
      inputSchema: resultSchema,
      annotations: reading,
    },
    (input, context) => answerErrors(() => readResult(asked, input, context)),
  );
  const writing = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };
  server.registerTool(
    'answer',
    {
      description:
        'Answer a call that a turn waits for: give `approve` for an approval, or `content` for a result. Approve only what a person asked you to approve.',
      inputSchema: answerSchema,
      annotations: { ...writing, openWorldHint: true },
    },
    (input, context) => answerErrors(() => answerCall(asked, input, context)),
  );
  server.registerTool(
    'cancel',
    {
      description: 'Cancel an open turn, even while it runs. A turn that is settled stays as it is.',
      inputSchema: cancelSchema,
      annotations: { ...writing, idempotentHint: true },
    },
    (named) =>
      answerErrors(async () => {
        await readServedTurn(served, named);
        return writeTextResult(await served.client.cancel(served.nameOf(named.conversation), named.turn));
      }),
  );
}

async function answerCall(
  { server, ...served }: AskedServer,
  { call, hash, ...input }: z.output<typeof answerSchema>,
  context: ServerContext,
): Promise<CallToolResult> {
  const answer = readAnswer(input);
  await readServedTurn(served, input);
  if ('approved' in answer && answer.approved && readAbilities(server, context).isAskable) {
    const why = 'a person at this client decides. Call `result` for this turn, which asks the person';
    throw fieldError('access_denied', 'approve', why);
  }
  const { client, nameOf } = served;
  const named = { ...answer, ...(hash !== undefined && { hash }) };
  return writeTextResult(await client.answer(nameOf(input.conversation), input.turn, { [call]: named }));
}

function readAnswer({
  approve,
  why,
  content,
  isError,
}: Pick<z.output<typeof answerSchema>, 'approve' | 'why' | 'content' | 'isError'>): CallAnswer {
  if ((approve === undefined) === (content === undefined)) {
    throw fieldError('invalid_input', 'approve', 'give either `approve` for an approval or `content` for a result');
  }
  if (content !== undefined) {
    if (why !== undefined) throw fieldError('invalid_input', 'why', 'only a denial has a reason');
    return { content, ...(isError === true && { isError }) };
  }
  if (isError !== undefined) throw fieldError('invalid_input', 'isError', 'only a result is marked as an error');
  if (approve === true && why !== undefined) throw fieldError('invalid_input', 'why', 'only a denial has a reason');
  return { approved: approve === true, ...(why !== undefined && { why }) };
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

/**
 * Begins a turn. A client that answers a question sends the same call again, with the turn as its state. A call with the
 * idempotency key of turnfold's own tools begins the same turn each time.
 */
async function ask(
  asked: AskedServer,
  agent: string,
  { message, conversation: given, waitSeconds: seconds }: z.output<typeof askSchema>,
  context: ServerContext,
): Promise<CallToolResult> {
  const followed = readRequestState(context.mcpReq.requestState<string>());
  if (followed !== undefined) return await takeAnswers(asked, followed, seconds, context);
  const { server, client, nameOf, tenant } = asked;
  const key = context.mcpReq['_meta']?.[KEY];
  const name = typeof key === 'string' ? hashKey(agent, key) : randomUUID();
  const conversation = given ?? `mcp-${name}`;
  const { turn } = await client.enqueueTurn({
    conversation,
    agent,
    input: message,
    ...(typeof key === 'string' && { turn: `mcp-${name}` }),
    ...(tenant !== undefined && { tenant }),
  });
  if (readAbilities(server, context).takesTasks)
    return asResult(writeTask({ conversation, turn }, await client.result(nameOf(conversation), turn)));
  return await goOn(asked, { conversation, turn, reports: 0 }, seconds, context);
}

function hashKey(agent: string, key: string): string {
  const name = JSON.stringify([agent, key]);
  return createHash('sha256').update(name).digest('hex').slice(0, 32);
}

async function readResult(
  asked: AskedServer,
  { conversation, turn, waitSeconds: seconds }: z.output<typeof resultSchema>,
  context: ServerContext,
): Promise<CallToolResult> {
  const followed = readRequestState(context.mcpReq.requestState<string>()) ?? { conversation, turn, reports: 0 };
  if (followed.conversation !== conversation || followed.turn !== turn) {
    throw fieldError('invalid_input', 'requestState', 'the question was about another turn');
  }
  if (context.mcpReq.inputResponses !== undefined) return await takeAnswers(asked, followed, seconds, context);
  await readServedTurn(asked, followed);
  return await goOn(asked, followed, seconds, context);
}

/** Passes on what a person answered. A person who closed the question leaves the turn as it is. */
async function takeAnswers(
  asked: AskedServer,
  followed: FollowedTurn,
  seconds: number,
  context: ServerContext,
): Promise<CallToolResult> {
  const view = await readServedTurn(asked, followed);
  const answers = readDecisions(view, context.mcpReq.inputResponses);
  if (Object.keys(answers).length === 0) return describeEnd(followed, view);
  await asked.client.answer(asked.nameOf(followed.conversation), followed.turn, answers);
  return await goOn(asked, followed, seconds, context);
}

async function goOn(
  asked: AskedServer,
  known: FollowedTurn,
  seconds: number,
  context: ServerContext,
): Promise<CallToolResult> {
  const waitMs = Math.min(seconds * 1_000, asked.maxWaitMs ?? Number.POSITIVE_INFINITY);
  const { view, followed } = await followTurn(asked, known, waitMs, context);
  const requests = askForCalls(view);
  const mayAsk =
    context.mcpReq.method === 'tools/call' &&
    readAbilities(asked.server, context).isAskable &&
    Object.keys(requests).length > 0;
  if (!mayAsk) return describeEnd(followed, view);
  return asResult(inputRequired({ inputRequests: requests, requestState: writeRequestState(followed) }));
}

/** The SDK types results of tools without its own other forms. */
function asResult(result: Asked): CallToolResult {
  return result as CallToolResult;
}
