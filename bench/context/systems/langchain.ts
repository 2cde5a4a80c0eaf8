import type { Message, ToolCall } from '../../../src/domain/message.ts';
import { clipMiddle } from '../points.ts';
import { type CompactMessages, findLargest, type Row, rowOfMessages, sumTokens, tokensOf } from '../row.ts';

/** A message of LangChain, with the members that this file reads. */
interface ChainMessage {
  readonly id?: string;
  readonly type: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
  readonly additional_kwargs?: Readonly<Record<string, unknown>>;
}

type ChainMessageClass = new (fields: Readonly<Record<string, unknown>>) => ChainMessage;
type CountChainTokens = (messages: readonly ChainMessage[]) => number;

interface CoreMessages {
  readonly HumanMessage: ChainMessageClass;
  readonly AIMessage: ChainMessageClass;
  readonly ToolMessage: ChainMessageClass;
  trimMessages(messages: readonly ChainMessage[], options: object): Promise<ChainMessage[]>;
}

interface LangChain {
  readonly ClearToolUsesEdit: new (
    options: object,
  ) => { apply(given: { messages: ChainMessage[]; countTokens: CountChainTokens }): Promise<void> };
  summarizationMiddleware(options: object): {
    beforeModel(
      state: { messages: ChainMessage[] },
      runtime: object,
    ): Promise<{ messages: ChainMessage[] } | undefined>;
  };
}

/** Share of the budget that the summarization middleware keeps as newest messages. The rest is for the summary. */
const KEPT_SHARE = 0.7;
/** Tokens that the middleware's own words around the summary take. */
const PREFIX_TOKENS = 24;

/** Rows of LangChain's own code: https://www.npmjs.com/package/langchain */
export function langChainRows(core: CoreMessages, chain: LangChain): Row[] {
  const trim: CompactMessages = async (messages, maxTokens) => {
    const kept = await core.trimMessages(toChain(core, messages), {
      maxTokens,
      tokenCounter: counterOf(messages),
      strategy: 'last',
      startOn: ['human', 'ai'],
    });
    return fromChain(kept, messages);
  };
  /** Clears as few results as possible. If the context is still too large without results, it is trimmed. */
  const clear: CompactMessages = async (messages, maxTokens) => {
    const clearAllBut = async (count: number): Promise<readonly Message[]> => {
      const edited = toChain(core, messages);
      const edit = new chain.ClearToolUsesEdit({ trigger: { tokens: 1 }, keep: { messages: count } });
      await edit.apply({ messages: edited, countTokens: counterOf(messages) });
      return fromChain(edited, messages);
    };
    const results = messages.filter(({ role }) => role === 'tool').length;
    const kept = await findLargest(results, async (count) => sumTokens(await clearAllBut(count)) <= maxTokens);
    return kept === -1 ? await trim(await clearAllBut(0), maxTokens) : await clearAllBut(kept);
  };
  const summarize: CompactMessages = async (messages, maxTokens) => {
    const keepTokens = Math.floor(KEPT_SHARE * maxTokens);
    const middleware = chain.summarizationMiddleware({
      model: createMockModel(maxTokens - keepTokens - PREFIX_TOKENS),
      trigger: { tokens: 1 },
      keep: { tokens: keepTokens },
      tokenCounter: counterOf(messages),
      summaryPrompt: '{messages}',
    });
    const update = await middleware.beforeModel({ messages: toChain(core, messages) }, { context: {} });
    return update === undefined ? messages : fromChain(update.messages, messages);
  };
  return [
    rowOfMessages('LangChain trimMessages', trim),
    rowOfMessages('LangChain clearToolUses', clear),
    rowOfMessages('LangChain summarization (mock)', summarize),
  ];
}

/** A model that answers with the first and the last part of what it was asked to summarize. */
function createMockModel(maxTokens: number): { invoke(prompt: string): Promise<{ content: string }> } {
  const half = Math.max(1, Math.floor(maxTokens / 2));
  return { invoke: async (prompt) => ({ content: await clipMiddle(prompt, half) }) };
}

/** The id of a LangChain message is its index among the messages that it was made from. */
function toChain({ HumanMessage, AIMessage, ToolMessage }: CoreMessages, messages: readonly Message[]): ChainMessage[] {
  return messages.map(({ role, content, toolCalls = [], toolCallId }, index) => {
    const id = String(index);
    if (role === 'tool') return new ToolMessage({ id, content, tool_call_id: toolCallId });
    if (role !== 'assistant') return new HumanMessage({ id, content });
    return new AIMessage({
      id,
      content,
      tool_calls: toolCalls.map((call) => ({ ...call, args: readArguments(call) })),
    });
  });
}

function readArguments({ arguments: text }: ToolCall): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { _raw: text };
  }
}

/** Finds the message behind each LangChain message. A changed or new one becomes a message of its own. */
function fromChain(chain: readonly ChainMessage[], messages: readonly Message[]): Message[] {
  return chain.flatMap((one): Message[] => {
    if (one.type === 'remove') return [];
    const original = findOriginal(one, messages);
    const content = typeof one.content === 'string' ? one.content : JSON.stringify(one.content);
    if (original === undefined) return [{ role: 'user', content }];
    return [original.content === content ? original : { ...original, content }];
  });
}

/** A summary has the id of the message that it replaces, and a cleared result has only the id of its call. */
function findOriginal(one: ChainMessage, messages: readonly Message[]): Message | undefined {
  if (one.additional_kwargs?.['lc_source'] === 'summarization') return undefined;
  if (one.id === undefined) return messages.find(({ toolCallId }) => toolCallId === one.tool_call_id);
  return messages[Number(one.id)];
}
/** Counts LangChain messages as the benchmark counts contexts, so that all rows have the same budget. */
function counterOf(messages: readonly Message[]): CountChainTokens {
  return (chain) => fromChain(chain, messages).reduce((sum, message) => sum + tokensOf(message), 0);
}
