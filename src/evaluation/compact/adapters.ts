import { isMapping } from '../../domain/parse.ts';
import { compactMessages } from './compact-messages.ts';
import type { CompactedMessages } from './compacted-messages.ts';
import type { MessageFormat } from './kinds/kind.ts';
import type { CompactionOptions } from './options.ts';
import type { CompactState } from './state.ts';

/** A step of the AI SDK: what `prepareStep` receives. */
export interface AiSdkStep<Message> {
  /** Messages of the next request. */
  readonly messages: Message[];
  /** System prompt of the next request, from version 7 on. */
  readonly instructions?: unknown;
}

/**
 * Makes a function for `prepareStep` of the AI SDK, versions 5 to 7: `generateText`, `streamText` and agents. One
 * function may serve several conversations.
 */
export function aiSdkPrepareStep(
  options: CompactionOptions,
): <Message>(step: AiSdkStep<Message>) => Promise<{ messages: Message[] }> {
  const memory = new CompactionMemory(options, 'ai-sdk');
  return async ({ messages, instructions }) => {
    const system = textOfInstructions(instructions);
    const compacted = await memory.compact(messages, system === '' ? {} : { system });
    return { messages: compacted.messages };
  };
}

/** Text of instructions, which are a text or system messages. */
function textOfInstructions(instructions: unknown): string {
  if (typeof instructions === 'string') return instructions;
  if (Array.isArray(instructions)) return instructions.map(textOfInstructions).join('\n\n');
  return isMapping(instructions) ? textOfInstructions(instructions['content']) : '';
}

/** Parameters of a call of a language model of the AI SDK. */
export interface AiSdkCall<Message> {
  /** Messages of the request. */
  readonly prompt: Message[];
  /** Tools of the request. */
  readonly tools?: unknown;
}

/** A middleware for language models of the AI SDK 7. */
export interface AiSdkMiddleware {
  /** Version of the middleware's interface. */
  readonly specificationVersion: 'v4';
  /** Compacts the prompt of a call. */
  readonly transformParams: <Params extends AiSdkCall<unknown>>(call: { readonly params: Params }) => Promise<Params>;
}

/** Makes a middleware for `wrapLanguageModel` of the AI SDK. One middleware may serve several conversations. */
export function aiSdkMiddleware(options: CompactionOptions): AiSdkMiddleware {
  const memory = new CompactionMemory(options, 'ai-sdk');
  return {
    specificationVersion: 'v4',
    transformParams: async ({ params }) => {
      const { prompt, tools } = params;
      const { messages } = await memory.compact(prompt, tools === undefined ? {} : { tools });
      return { ...params, prompt: messages };
    },
  };
}

/** Input of a model call of the OpenAI Agents SDK. */
export interface AgentsModelData<Item> {
  /** Items of the request. */
  readonly input: Item[];
  /** System prompt of the request. */
  readonly instructions?: string;
}

/** Makes a `callModelInputFilter` of the OpenAI Agents SDK. One function may serve several conversations. */
export function openaiAgentsFilter(
  options: CompactionOptions,
): <Item>(call: { readonly modelData: AgentsModelData<Item> }) => Promise<{ input: Item[]; instructions?: string }> {
  const memory = new CompactionMemory(options, 'openai-agents');
  return async ({ modelData: { input, instructions } }) => {
    const { messages } = await memory.compact(input, instructions === undefined ? {} : { system: instructions });
    return { input: messages, ...(instructions !== undefined && { instructions }) };
  };
}

/** A session of the OpenAI Agents SDK, with the methods that turnfold uses. */
export interface AgentsSession<Item> {
  /** Reads the items of the session. */
  getItems(limit?: number): Promise<Item[]>;
}

/**
 * Wraps a session of the OpenAI Agents SDK, so that a run begins with compacted items. The session itself keeps all
 * items, and `getItems` with a limit returns them.
 */
export function openaiAgentsSession<Item, Session extends AgentsSession<Item>>(
  session: Session & AgentsSession<Item>,
  options: CompactionOptions,
): Session {
  const memory = new CompactionMemory(options, 'openai-agents');
  const getItems = async (limit?: number, ...others: []): Promise<Item[]> => {
    const items = await session.getItems(limit, ...others);
    return limit === undefined ? (await memory.compact(items)).messages : items;
  };
  return new Proxy<Session>(session, {
    get: (target, key) => {
      if (key === 'getItems') return getItems;
      const value: unknown = Reflect.get(target, key);
      // Methods are bound to the session, because a session may have private fields, which a proxy does not have.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** A request of an agent of LangChain to its model. */
export interface LangchainRequest {
  /** Messages of the request, without the system prompt. */
  readonly messages: unknown[];
  /** System prompt of the request. */
  readonly systemPrompt?: string;
}

/** Options for `createMiddleware` of LangChain. */
export interface LangchainMiddleware {
  /** Name of the middleware. */
  readonly name: string;
  /** Compacts the messages of a request. */
  readonly wrapModelCall: <Request extends LangchainRequest, Answer>(
    request: Request,
    handler: (request: Request) => Answer | Promise<Answer>,
  ) => Promise<Answer>;
}

/** Makes the options of a middleware for agents of LangChain. One middleware may serve several conversations. */
export function langchainMiddleware(options: CompactionOptions): LangchainMiddleware {
  const memory = new CompactionMemory(options, 'langchain');
  return {
    name: 'turnfold-compact',
    wrapModelCall: async (request, handler) => {
      const { systemPrompt } = request;
      const { messages } = await memory.compact(request.messages, systemPrompt ? { system: systemPrompt } : {});
      return await handler({ ...request, messages });
    },
  };
}

/** A processor of Mastra. */
export interface MastraProcessor {
  /** Id of the processor. */
  readonly id: string;
  /** Name of the processor. */
  readonly name: string;
  /** Compacts the prompt of a request. */
  readonly processLLMRequest: <Message>(call: { readonly prompt: Message[] }) => Promise<{ prompt: Message[] }>;
}

/** Makes an input processor for agents of Mastra. One processor may serve several conversations. */
export function mastraProcessor(options: CompactionOptions): MastraProcessor {
  const memory = new CompactionMemory(options, 'ai-sdk');
  return {
    id: 'turnfold-compact',
    name: 'turnfold compaction',
    processLLMRequest: async ({ prompt }) => ({ prompt: (await memory.compact(prompt)).messages }),
  };
}

const MAX_REMEMBERED = 32;

interface RememberedCall {
  /** Given messages of the call, including messages that the caller has replaced by returned ones. */
  readonly given: readonly unknown[];
  readonly returned: readonly unknown[];
  readonly state: CompactState;
}

/** Remembers the last conversations by their first messages, because the hooks of other packages pass no id. */
class CompactionMemory {
  readonly #options: CompactionOptions;
  readonly #format: MessageFormat;
  /** Remembered calls, the newest last. */
  readonly #calls: RememberedCall[] = [];

  constructor(options: CompactionOptions, format: MessageFormat) {
    this.#options = options;
    this.#format = format;
  }

  /** @param request system prompt and tools, if the options name none */
  async compact<Item>(
    messages: readonly Item[],
    request: Pick<CompactionOptions, 'system' | 'tools'> = {},
  ): Promise<CompactedMessages<Item>> {
    const known = this.#find(messages);
    const given = known === undefined ? messages : (known.whole as readonly Item[]);
    const state = known?.call.state;
    const options = { ...request, ...this.#options, format: this.#format, ...(state && { state }) };
    const compacted = await compactMessages({ ...options, messages: given });
    if (known?.isContinued === true) this.#calls.splice(this.#calls.indexOf(known.call), 1);
    this.#calls.push({ given, returned: compacted.messages, state: compacted.state });
    if (this.#calls.length > MAX_REMEMBERED) this.#calls.shift();
    return compacted;
  }

  #find(messages: readonly unknown[]): FoundCall | undefined {
    let best: { readonly call: RememberedCall; readonly shared: number } | undefined;
    for (const call of this.#calls.toReversed()) {
      const { given, returned } = call;
      // The caller may keep only the returned messages, without the given ones.
      if (returned !== given && countShared(messages, returned) === returned.length) {
        return { call, whole: [...given, ...messages.slice(returned.length)], isContinued: true };
      }
      const shared = countShared(messages, given);
      if (shared > (best?.shared ?? 0)) best = { call, shared };
    }
    return best && { call: best.call, whole: messages, isContinued: best.shared === best.call.given.length };
  }
}

interface FoundCall {
  readonly call: RememberedCall;
  readonly whole: readonly unknown[];
  /** True if the messages begin with all messages of the call. */
  readonly isContinued: boolean;
}

function countShared(messages: readonly unknown[], others: readonly unknown[]): number {
  const end = Math.min(messages.length, others.length);
  for (let index = 0; index < end; index += 1) {
    const [one, other] = [messages[index], others[index]];
    if (one !== other && JSON.stringify(one) !== JSON.stringify(other)) return index;
  }
  return end;
}
