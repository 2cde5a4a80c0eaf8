import { isGateShut } from '../domain/compaction/breaker.ts';
import { buildContext } from '../domain/context.ts';
import { diffVersions, type VersionChange } from '../domain/diff.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { type AdoptedMessages, adoptMessages } from '../domain/history.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { FRAMING_TOKENS } from '../domain/limits.ts';
import type { LogEntry, Message } from '../domain/message.ts';
import { parseInput } from '../domain/parse.ts';
import type { AppendResult } from '../domain/ports/context-store.ts';
import { contextSize, NO_OVERHEAD } from '../domain/size.ts';
import { START_VERSION, type Version } from '../domain/version.ts';
import { type AppendInput, appendSchema, type ConversationName, readConversationName, weighMessage } from './input.ts';
import type { ClientPorts } from './ports.ts';

/** What the agent still knows. */
export interface ContextView {
  readonly conversation: string;
  readonly version: number;
  /** the last seq of the log that it holds */
  readonly head: number;
  /** of the messages, without system prompt and tools */
  readonly tokens: number;
  readonly items: readonly {
    readonly from: number;
    readonly to: number;
    readonly tokens: number;
    readonly message: Message;
  }[];
}

export interface Appended {
  readonly from: number;
  readonly to: number;
}

/** Somebody else may append in between; without an expected head the caller does not mind where its messages land. */
const APPEND_TRIES = 5;
/** No log ends here. */
const NO_HEAD = -1;

/**
 * Adds messages to a log without a turn: for callers with a loop of their own, and for imports.
 * @throws invalid_input, orphan_result, duplicate_call, message_too_large, conversation_busy, conflict
 */
export async function appendMessages(ports: ClientPorts, input: AppendInput): Promise<Appended> {
  const { conversation: id, tenant, operation = ports.ids.next(), ...rest } = parseInput(appendSchema, input);
  const append = { ...rest, conversation: { tenant, id }, operation };
  let result = await tryAppend(ports, append);
  for (let tries = 1; isWorthAnother(result, append) && tries < APPEND_TRIES; tries += 1) {
    result = await tryAppend(ports, append);
  }
  return await concludeAppend(ports, append.conversation, result);
}

interface CheckedAppend {
  readonly conversation: ConversationRef;
  readonly operation: string;
  readonly agent: string;
  readonly messages: readonly Message[];
  readonly expectedHead?: number | undefined;
}

function isWorthAnother(result: AppendResult, { expectedHead }: CheckedAppend): boolean {
  return result.status === 'conflict' && expectedHead === undefined;
}

async function tryAppend(ports: ClientPorts, append: CheckedAppend): Promise<AppendResult> {
  const { conversation, operation, agent, messages } = append;
  const state = await ports.contexts.readConversation(conversation);
  const expectedHead = append.expectedHead ?? state?.head ?? 0;
  const before = state?.openCalls ?? [];
  const target = { conversation, operation, agent, expectedHead };
  let adopted: AdoptedMessages;
  try {
    adopted = adoptMessages(messages, expectedHead + 1, before);
  } catch (refusal) {
    // Sent again, an operation finds its calls answered: by itself. Nothing is appended here, the store only says whether it
    // knows the operation, and to an append that cannot be made, that somebody else was faster.
    const answer = await ports.contexts.append({ ...target, expectedHead: NO_HEAD, messages: [], opens: [], closes: [] });
    if (answer.status === 'known') return answer;
    throw refusal;
  }
  const counter = await ports.counterFor(agent);
  const weighed = await Promise.all(
    adopted.messages.map((message, index) => weighMessage(counter, message, `messages[${index}]`)),
  );
  const stillOpen = new Set(adopted.openCalls.map((call) => call.id));
  const wasOpen = new Set(before.map((call) => call.id));
  return await ports.contexts.append({
    ...target,
    messages: weighed,
    opens: adopted.openCalls.filter((call) => !wasOpen.has(call.id)),
    closes: [...wasOpen].filter((call) => !stillOpen.has(call)),
  });
}

async function concludeAppend(
  ports: ClientPorts,
  conversation: ConversationRef,
  result: AppendResult,
): Promise<Appended> {
  if (result?.status === 'busy') {
    throw new TurnfoldError('conversation_busy', `conversation: turns of ${conversation.id} wait or run`, {
      field: 'conversation',
    });
  }
  if (result.status === 'conflict') {
    const { head } = result;
    throw new TurnfoldError('conflict', `expectedHead: the log ends at ${head}`, {
      field: 'expectedHead',
      details: { head },
    });
  }
  await askForEvaluation(ports, conversation);
  return { from: result.from, to: result.to };
}

/** Nobody runs a gate for appended messages: the compaction worker looks, unless the last look says that it need not. */
async function askForEvaluation(ports: ClientPorts, conversation: ConversationRef): Promise<void> {
  const state = await ports.contexts.readConversation(conversation);
  if (state === undefined || isGateShut(state.gate, contextSize(state.size, NO_OVERHEAD).tokens)) return;
  await requestPass(ports, conversation, false);
}

/**
 * Asks for a pass. `isManual` states the reason itself; otherwise the compaction worker looks whether a threshold is met.
 * @returns the pass's id
 */
export async function requestPass(
  ports: ClientPorts,
  conversation: ConversationRef,
  isManual: boolean,
): Promise<string> {
  const wake = ports.ids.next();
  const result = await ports.passes.requestPass({
    conversation,
    reasons: isManual ? ['manual'] : [],
    passId: ports.ids.next(),
    wake,
  });
  if (!('passId' in result)) throw notFound(conversation);
  if (result.needsWake) await ports.wakes.wake('pass', conversation, wake);
  return result.passId;
}

/** @throws not_found */
export async function readContextView(
  ports: ClientPorts,
  name: ConversationName,
  at: { readonly version?: number; readonly head?: number } = {},
): Promise<ContextView> {
  const conversation = readConversationName(name);
  const source = await ports.contexts.readContext(conversation, at);
  if (source === undefined) throw notFound(conversation, at.version);
  const { items, head, version } = buildContext(source);
  const tokens = items.reduce((sum, item) => sum + item.tokens, FRAMING_TOKENS);
  return {
    conversation: conversation.id,
    version: version.number,
    head,
    tokens,
    items: items.map(({ from, to, tokens: itemTokens, message }) => ({ from, to, tokens: itemTokens, message })),
  };
}

/** The whole log, archived messages included, oldest first. @throws not_found */
export async function readWholeLog(ports: ClientPorts, name: ConversationName): Promise<LogEntry[]> {
  const conversation = readConversationName(name);
  const state = await ports.contexts.readConversation(conversation);
  if (state === undefined) throw notFound(conversation);
  return state.head === 0 ? [] : await ports.contexts.readLog(conversation, [{ from: 1, to: state.head }]);
}

/** Kept versions, newest first. @throws not_found */
export async function listVersions(ports: ClientPorts, name: ConversationName): Promise<Version[]> {
  const conversation = readConversationName(name);
  if ((await ports.contexts.readConversation(conversation)) === undefined) throw notFound(conversation);
  return await ports.contexts.listVersions(conversation);
}

/** What changed between two versions. @throws not_found */
export async function diff(
  ports: ClientPorts,
  name: ConversationName,
  before: number,
  after: number,
): Promise<VersionChange[]> {
  const conversation = readConversationName(name);
  const read = async (number: number): Promise<Version> => {
    const version = number === 0 ? START_VERSION : await ports.contexts.readVersion(conversation, number);
    if (version === undefined) throw notFound(conversation, number);
    return version;
  };
  return diffVersions(await read(before), await read(after));
}

function notFound({ id }: ConversationRef, version?: number): TurnfoldError {
  return version === undefined
    ? new TurnfoldError('not_found', `conversation: no conversation ${id}`, { field: 'conversation' })
    : new TurnfoldError('not_found', `version: no version ${version} of ${id}`, { field: 'version' });
}
