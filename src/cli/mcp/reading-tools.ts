import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ConversationName, TurnfoldClient } from '../../api/client/index.ts';
import type { HeldContext } from '../../api/http/app-options.ts';
import { splitsPair } from '../../compaction/excerpt.ts';
import { boundedRecord } from '../../domain/bounded-schemas.ts';
import { CONVERSATION_STATES } from '../../domain/conversation.ts';
import { fieldError } from '../../domain/errors.ts';
import { MAX_POLICY_SETTINGS } from '../../domain/policy-input.ts';
import type { Version } from '../../domain/version.ts';
import { answerErrors, readFittingPage, showMessage, writeJsonResult } from './answers.ts';
import { searchLog, writeWholeMessage } from './search-log.ts';

/** The tenant that the tools of the server reach. */
export interface Reach {
  readonly client: TurnfoldClient;
  readonly nameOf: (conversation: string) => ConversationName;
  /** Undefined over HTTP, where the key decides. */
  readonly tenant?: string | undefined;
  /** Runs a read that holds a whole context. Absent: such reads have no limit, because one client uses the process. */
  readonly holdContext?: <Result>(held: Held, read: () => Promise<Result>) => Promise<Result>;
}

type Held = Omit<HeldContext, 'client'>;

export interface ServedAgents extends Reach {
  /** Agents that a client may send messages to. Empty: the server only reads. */
  readonly agents: readonly string[];
  /** Longest time that a call waits for a turn, in ms. Undefined: the time that the call asks for. */
  readonly maxWaitMs?: number;
}

interface ReadingTool<Input extends z.ZodObject = z.ZodObject> {
  readonly about: string;
  readonly input: Input;
  /** @param signal aborts when the client no longer wants the answer */
  read(reach: Reach, input: z.output<Input>, signal: AbortSignal): Promise<unknown>;
}

const conversation = z.string().min(1).describe('Id of the conversation.');
const version = z.number().int().min(0).optional().describe('Number of a kept version. Absent: the live context.');
const kept = (about: string) => z.number().int().min(0).describe(about);
const limit = (most: number, usual: number) =>
  z.number().int().min(1).max(most).default(usual).describe(`Maximum number of entries (${usual}, at most ${most}).`);
const seq = (about: string) => z.number().int().min(1).describe(about);
const cursor = z.string().optional().describe('`next` of the page before. Absent: the first page.');
const turn = z.string().min(1).describe('Id of the turn.');

const MOST_OF_LOG = 100;
const TEXT_CHARACTERS = 40_000;
/** Bytes of a page of messages, each of which has at most 1 MiB. */
const PAGE_BYTES = 2_000_000;

function reading<Input extends z.ZodObject>(tool: ReadingTool<Input>): ReadingTool {
  return tool;
}

/** Adds the tenant to the input of a list. Over HTTP the key decides. */
function inTenant<Input extends object>({ tenant }: Reach, input: Input): Input & { readonly tenant?: string } {
  return { ...input, ...(tenant !== undefined && { tenant }) };
}

/** Tools that list conversations, agents and turns. */
const LISTING_TOOLS: Readonly<Record<string, ReadingTool>> = {
  list_agents: reading({
    about: 'List the agents that running workers have.',
    input: z.strictObject({}),
    read: ({ client }) => client.agents(),
  }),
  list_conversations: reading({
    about: 'List conversations with their states, in pages.',
    input: z.strictObject({
      agent: z.string().optional().describe('Only conversations of this agent.'),
      owner: z.string().optional().describe('Only conversations of this owner, newest first.'),
      state: z.enum(CONVERSATION_STATES).optional().describe('Only conversations in this state.'),
      idContains: z.string().min(1).optional().describe('Only conversations whose id contains this text.'),
      after: cursor,
      limit: limit(200, 50),
    }),
    read: (reach, { limit: most, ...input }) =>
      readFittingPage(most, (fitting) => reach.client.conversations(inTenant(reach, { ...input, limit: fitting }))),
  }),
  list_failed_turns: reading({
    about: 'List failed turns of the last 7 days with their errors, newest first.',
    input: z.strictObject({
      code: z.string().min(1).optional().describe('Only turns that failed with this error code.'),
      limit: limit(200, 20),
    }),
    read: (reach, { limit: most, ...input }) =>
      readFittingPage(most, (fitting) => reach.client.failedTurns(inTenant(reach, { ...input, limit: fitting }))),
  }),
  list_waiting_turns: reading({
    about: 'List turns that wait for an approval, or for the result of a call, with these calls.',
    input: z.strictObject({ after: cursor, limit: limit(200, 20) }),
    read: (reach, { limit: most, ...input }) =>
      readFittingPage(most, (fitting) => reach.client.waiting(inTenant(reach, { ...input, limit: fitting }))),
  }),
  list_open_turns: reading({
    about: 'List the turns of a conversation that are not settled, in the order in which they run.',
    input: z.strictObject({ conversation, limit: limit(200, 50) }),
    read: ({ client, nameOf }, { conversation: id, limit: most }) =>
      readFittingPage(most, (fitting) => client.openTurns(nameOf(id), { limit: fitting })),
  }),
  show_turn: reading({
    about: 'Show a turn: its state, its answer or its failure, the calls that it waits for, and its usage.',
    input: z.strictObject({ conversation, turn }),
    read: ({ client, nameOf }, { conversation: id, turn: name }) => client.result(nameOf(id), name),
  }),
  turn_steps: reading({
    about: 'List the recorded model and tool calls of a turn, with their times.',
    input: z.strictObject({ conversation, turn }),
    read: ({ client, nameOf }, { conversation: id, turn: name }) => client.steps(nameOf(id), name),
  }),
};

/** Tools that show messages of the log. */
const LOG_TOOLS: Readonly<Record<string, ReadingTool>> = {
  outline: reading({
    about:
      'List messages of the log without their texts, and what became of each in the context: live, summarized, masked, clipped or archived. Pass `next` as `after`.',
    input: z.strictObject({
      conversation,
      after: kept('Position (seq) behind which the page begins (0).').default(0),
      limit: limit(500, 100),
      version,
    }),
    read: ({ client, nameOf }, { conversation: id, limit: most, ...input }) =>
      readFittingPage(most, (fitting) => client.outline(nameOf(id), { ...input, limit: fitting })),
  }),
  read_log: reading({
    about:
      'Read messages of the log by position (seq), also those that compaction removed from the context. Long texts are cut in their middle: `read_message` reads one whole. `next` is the first position that the answer leaves out.',
    input: z.strictObject({
      conversation,
      from: seq('Position (seq) of the first message.'),
      to: seq('Position (seq) of the last message.'),
    }),
    read: ({ client, nameOf }, { conversation: id, from, to }) => {
      if (to < from) throw fieldError('invalid_input', 'to', `must be at least \`from\`, which is ${from}`);
      const most = Math.min(MOST_OF_LOG, to - from + 1);
      return readFittingPage(most, async (fitting) => {
        const log = await client.log(nameOf(id), { after: from - 1, limit: fitting, maxBytes: PAGE_BYTES });
        const messages = log.map((entry) => ({ seq: entry.seq, turn: entry.turn, ...showMessage(entry.message) }));
        const next = (log.at(-1)?.seq ?? to) + 1;
        return { messages, ...(next <= to && { next }) };
      });
    },
  }),
  read_message: reading({
    about: 'Read one message of the log whole, with the arguments of its calls, in pages. Pass `next` as `offset`.',
    input: z.strictObject({
      conversation,
      seq: seq('Position (seq) of the message.'),
      offset: kept('Characters to skip (0).').default(0),
    }),
    read: async ({ client, nameOf }, { conversation: id, seq: at, offset }) => {
      const [entry] = await client.log(nameOf(id), { after: at - 1, limit: 1 });
      if (entry?.seq !== at) throw fieldError('not_found', 'seq', `the log has no message ${at}`);
      const whole = writeWholeMessage(entry.message);
      return await readFittingPage(TEXT_CHARACTERS, async (fitting) => {
        const end = offset + fitting;
        const next = splitsPair(whole, end) ? end - 1 : end;
        const text = whole.slice(offset, next);
        return { seq: at, characters: whole.length, text, ...(next < whole.length && { next }) };
      });
    },
  }),
  search_log: reading({
    about:
      'Search the whole log for words, archived messages included. Each match has its state in the live context, and `by`, the version that gave it this state. `modelReads` lists the messages of the live context that still hold all words. Use it first to find why an agent forgot something.',
    input: z.strictObject({
      conversation,
      text: z.string().min(1).max(200).describe('Words that a message must hold, all of them, in any case.'),
      limit: limit(50, 20),
    }),
    read: ({ client, nameOf }, { conversation: id, text, limit: most }, signal) =>
      searchLog(client, { conversation: nameOf(id), text, most, signal }),
  }),
};

/** Tools that show contexts and their versions. */
const CONTEXT_TOOLS: Readonly<Record<string, ReadingTool>> = {
  describe: reading({
    about: 'Show state, size, live version, open calls and the running compaction of a conversation.',
    input: z.strictObject({ conversation }),
    read: ({ client, nameOf }, input) => client.describe(nameOf(input.conversation)),
  }),
  breakdown: reading({
    about: 'Show what fills a context: tokens by category, the window, thresholds of compaction, and the cost so far.',
    input: z.strictObject({ conversation, version }),
    read: ({ client, nameOf }, { conversation: id, ...input }) => client.breakdown(nameOf(id), input),
  }),
  versions: reading({
    about: 'List the kept versions of a context, oldest first: cause, reasons, sizes and times.',
    input: z.strictObject({ conversation }),
    read: async ({ client, nameOf }, input) => (await client.versions(nameOf(input.conversation))).map(showVersion),
  }),
  show_version: reading({
    about:
      'Show the context as the model reads it, of a kept version or the live one, in pages. Pass `next` as `after`.',
    input: z.strictObject({
      conversation,
      version,
      after: kept('Position (seq) behind which the page begins (0).').default(0),
      limit: limit(200, 50),
    }),
    read: async ({ client, nameOf }, { conversation: id, version: number, after, limit: most }) => {
      const view = await (number === undefined ? client.context(nameOf(id)) : client.show(nameOf(id), number));
      const { version: shown, head, tokens, items } = view;
      const left = items.filter(({ to }) => to > after);
      return await readFittingPage(most, async (fitting) => {
        const page = left.slice(0, fitting);
        const messages = page.map(({ message, ...place }) => ({ ...place, ...showMessage(message) }));
        const next = page.length < left.length && { next: page.at(-1)?.to };
        return { version: shown, head, tokens, messages, ...next };
      });
    },
  }),
  compare: reading({
    about: 'List what changed between the contexts of two kept versions. Version 0 is the whole log.',
    input: z.strictObject({
      conversation,
      before: kept('Number of the older version.'),
      after: kept('Number of the newer version.'),
    }),
    read: ({ client, nameOf }, { conversation: id, before, after }) => client.diff(nameOf(id), before, after),
  }),
  report: reading({
    about:
      'Show what a version did: its summaries, what left the context, and the identifiers that it kept and lost. With `find`, only words that contain this text.',
    input: z.strictObject({
      conversation,
      version: seq('Number of a kept version.'),
      find: z.string().min(1).max(200).optional().describe('Text that the shown identifiers contain. Absent: all.'),
    }),
    read: ({ client, nameOf }, { conversation: id, version: number, find }) =>
      client.report(nameOf(id), number, find === undefined ? {} : { find }),
  }),
  plan: reading({
    about: 'Plan a compaction now, under the policy of the agent or another one. Calls no model and changes nothing.',
    input: z.strictObject({
      conversation,
      policy: boundedRecord(z.string(), z.unknown(), MAX_POLICY_SETTINGS)
        .default({})
        .describe('Settings that replace those of the agent, such as {"maxTokens": 8000}. Absent: none.'),
    }),
    read: ({ client, nameOf }, { conversation: id, policy }) => client.plan(nameOf(id), { policy }),
  }),
};

/** Tools that change nothing. Their names are those of the client methods, or of the question that they answer. */
const READING_TOOLS = { ...LISTING_TOOLS, ...LOG_TOOLS, ...CONTEXT_TOOLS };

export function registerReadingTools(server: McpServer, reach: Reach): void {
  for (const [name, tool] of Object.entries(READING_TOOLS)) {
    const annotations = { readOnlyHint: true, openWorldHint: false };
    const config = { description: tool.about, inputSchema: tool.input, annotations };
    server.registerTool(name, config, (given, { mcpReq: { signal } }) => {
      const read = async (): Promise<CallToolResult> => writeJsonResult(await tool.read(reach, given, signal));
      return answerErrors(HOLDING_TOOLS.has(name) ? () => holdContext(reach, { given, signal }, read) : read);
    });
  }
}

/** Tools that read a whole context. */
const HOLDING_TOOLS: ReadonlySet<string> = new Set(
  'search_log outline breakdown show_version compare report plan'.split(' '),
);

async function holdContext(
  { holdContext: hold, nameOf }: Reach,
  { given, signal }: { readonly given: Readonly<Record<string, unknown>>; readonly signal: AbortSignal },
  read: () => Promise<CallToolResult>,
): Promise<CallToolResult> {
  if (hold === undefined) return await read();
  const isLive = given['version'] === undefined && given['before'] === undefined;
  return await hold({ conversation: nameOf(String(given['conversation'])), isLive, signal }, read);
}

function showVersion({ number, parent, cause, reasons, strategy, base, segments, weight, at }: Version): object {
  const kinds: Record<string, number> = {};
  for (const { kind } of segments) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return { version: number, parent, cause, reasons, strategy, base, tokens: weight.tokens, segments: kinds, at };
}
