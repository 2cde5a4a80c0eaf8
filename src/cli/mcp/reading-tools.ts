import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ConversationName, TurnfoldClient } from '../../api/client/index.ts';
import { boundedRecord } from '../../domain/bounded-schemas.ts';
import { CONVERSATION_STATES } from '../../domain/conversation.ts';
import { MAX_POLICY_SETTINGS } from '../../domain/policy-input.ts';
import type { Version } from '../../domain/version.ts';
import { answerErrors, showMessage, writeJsonResult } from './answers.ts';
import { searchLog } from './search-log.ts';

/** The tenant that the tools of the server reach. */
export interface Reach {
  readonly client: TurnfoldClient;
  readonly nameOf: (conversation: string) => ConversationName;
  /** Undefined over HTTP, where the key decides. */
  readonly tenant?: string | undefined;
}

export interface ServedAgents extends Reach {
  /** Agents that a client may send messages to. Empty: the server only reads. */
  readonly agents: readonly string[];
}

interface ReadingTool<Input extends z.ZodObject = z.ZodObject> {
  readonly about: string;
  readonly input: Input;
  read(reach: Reach, input: z.output<Input>): Promise<unknown>;
}

const conversation = z.string().min(1).describe('Id of the conversation.');
const version = z.number().int().min(0).optional().describe('Number of a kept version. Absent: the live context.');
const limit = (most: number, usual: number) => z.number().int().min(1).max(most).default(usual);
const seq = z.number().int().min(1);

function reading<Input extends z.ZodObject>(tool: ReadingTool<Input>): ReadingTool {
  return tool;
}

/** Tools that change nothing. Their names are those of the client methods, or of the question that they answer. */
const READING_TOOLS: Readonly<Record<string, ReadingTool>> = {
  list_agents: reading({
    about: 'List the agents that running workers have.',
    input: z.object({}),
    read: ({ client }) => client.agents(),
  }),
  list_conversations: reading({
    about: 'List conversations with their states, in pages. Pass `next` of a page as `after`.',
    input: z.object({
      agent: z.string().optional(),
      state: z.enum(CONVERSATION_STATES).optional(),
      idContains: z.string().min(1).optional(),
      after: z.string().optional(),
      limit: limit(200, 50),
    }),
    read: ({ client, tenant }, input) => client.conversations({ ...input, ...(tenant !== undefined && { tenant }) }),
  }),
  describe: reading({
    about: 'Show state, size, live version, open turns and the running compaction of a conversation.',
    input: z.object({ conversation }),
    read: ({ client, nameOf }, input) => client.describe(nameOf(input.conversation)),
  }),
  breakdown: reading({
    about: 'Show what fills a context: tokens by category, the window, thresholds of compaction, and the cost so far.',
    input: z.object({ conversation, version }),
    read: ({ client, nameOf }, { conversation: id, ...input }) => client.breakdown(nameOf(id), input),
  }),
  outline: reading({
    about:
      'List messages of the log without their texts, and what became of each in the context: live, summarized, masked, clipped or archived. Pass `next` as `after`.',
    input: z.object({ conversation, after: z.number().int().min(0).default(0), limit: limit(500, 100), version }),
    read: ({ client, nameOf }, { conversation: id, ...input }) => client.outline(nameOf(id), input),
  }),
  read_log: reading({
    about: 'Read messages of the log by position (seq), also those that compaction removed from the context.',
    input: z.object({ conversation, from: seq, to: seq }),
    read: async ({ client, nameOf }, { conversation: id, from, to }) => {
      const log = await client.log(nameOf(id), { after: from - 1, limit: Math.min(100, Math.max(1, to - from + 1)) });
      return log.map((entry) => ({ seq: entry.seq, turn: entry.turn, ...showMessage(entry.message) }));
    },
  }),
  search_log: reading({
    about:
      'Search the whole log for words, archived messages included, and show whether the model still sees each match. Use it first to find why an agent forgot something.',
    input: z.object({ conversation, text: z.string().min(1).max(200), limit: limit(50, 20) }),
    read: ({ client, nameOf }, { conversation: id, text, limit: most }) => searchLog(client, nameOf(id), text, most),
  }),
  versions: reading({
    about: 'List the kept versions of a context, oldest first: cause, reasons, sizes and times.',
    input: z.object({ conversation }),
    read: async ({ client, nameOf }, input) => (await client.versions(nameOf(input.conversation))).map(showVersion),
  }),
  show_version: reading({
    about: 'Show the context as the model reads it: of a kept version, or the live one.',
    input: z.object({ conversation, version }),
    read: async ({ client, nameOf }, { conversation: id, version: number }) => {
      const view = await (number === undefined ? client.context(nameOf(id)) : client.show(nameOf(id), number));
      const { version: shown, head, tokens, items } = view;
      const messages = items.map(({ from, to, tokens: size, message }) => ({
        from,
        to,
        tokens: size,
        ...showMessage(message),
      }));
      return { version: shown, head, tokens, messages };
    },
  }),
  compare: reading({
    about: 'List what changed between the contexts of two kept versions. Version 0 is the whole log.',
    input: z.object({ conversation, before: z.number().int().min(0), after: z.number().int().min(0) }),
    read: ({ client, nameOf }, { conversation: id, before, after }) => client.diff(nameOf(id), before, after),
  }),
  report: reading({
    about:
      'Show what a version did: its summaries, what left the context, and the identifiers that it kept and lost. With `find`, only words that contain this text.',
    input: z.object({ conversation, version: z.number().int().min(1), find: z.string().min(1).max(200).optional() }),
    read: ({ client, nameOf }, { conversation: id, version: number, find }) =>
      client.report(nameOf(id), number, find === undefined ? {} : { find }),
  }),
  plan: reading({
    about: 'Plan a compaction now, under the policy of the agent or another one. Calls no model and changes nothing.',
    input: z.object({ conversation, policy: boundedRecord(z.string(), z.unknown(), MAX_POLICY_SETTINGS).default({}) }),
    read: ({ client, nameOf }, { conversation: id, policy }) => client.plan(nameOf(id), { policy }),
  }),
  turn_steps: reading({
    about: 'List the recorded model and tool calls of a turn.',
    input: z.object({ conversation, turn: z.string().min(1) }),
    read: ({ client, nameOf }, { conversation: id, turn }) => client.steps(nameOf(id), turn),
  }),
};

export function registerReadingTools(server: McpServer, reach: Reach): void {
  for (const [name, tool] of Object.entries(READING_TOOLS)) {
    const annotations = { readOnlyHint: true, openWorldHint: false };
    server.registerTool(name, { description: tool.about, inputSchema: tool.input, annotations }, (given) =>
      answerErrors(async () => writeJsonResult(await tool.read(reach, given))),
    );
  }
}

function showVersion({ number, parent, cause, reasons, strategy, base, segments, weight, at }: Version): object {
  const kinds: Record<string, number> = {};
  for (const { kind } of segments) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return { version: number, parent, cause, reasons, strategy, base, tokens: weight.tokens, segments: kinds, at };
}
