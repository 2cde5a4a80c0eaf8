import { createHash } from 'node:crypto';
import type { Message } from '../domain/message.ts';
import type { ToolDescription } from '../domain/model.ts';
import type { RawFormat } from '../domain/raw-items.ts';
import { type Binding, countThoughts, isThinking, keptRawItems } from './raw-items.ts';
import type { Origin, WireRequest } from './wire-request.ts';

/** Characters in tool names that at least one provider refuses. */
const ILLEGAL_IN_NAMES = /[^a-zA-Z0-9_-]/g;
const MAX_NAME_LENGTH = 64;

/** OpenAI's limit on the tools of one request. No other provider has a smaller limit. */
export const OPENAI_MAX_TOOLS = 128;

/** Number of invented tool names that get a placeholder description of their own. Later names share one placeholder. */
const MAX_OWN_STUBS = 15;
const SHARED_STUB = 'unknown_tool';

export interface SentTools {
  readonly tools: readonly ToolDescription[];
  /** Returns the name under which a tool is sent. */
  readonly nameOf: (name: string) => string;
}

/**
 * Returns the tools of a request, plus a placeholder description for each called tool that no longer exists. Providers
 * refuse calls of undescribed tools (wire rule X6).
 * Illegal characters are replaced in a name that the model invented. The name of an existing tool never changes,
 * because the model's answer has to use it. The first invented names get placeholders of their own, so that a later
 * name never changes how an earlier call is sent.
 * @param end number of messages whose calls get placeholders. Default all.
 */
function sendTools(tools: readonly ToolDescription[], messages: readonly Message[], end = messages.length): SentTools {
  const known = new Set(tools.map((tool) => tool.name));
  const maxOwn = Math.min(MAX_OWN_STUBS, OPENAI_MAX_TOOLS - 1 - tools.length);
  const own = new Set<string>();
  const nameOf = (name: string): string => {
    const legal = known.has(name) ? name : makeLegal(name);
    return known.has(legal) || own.has(legal) ? legal : SHARED_STUB;
  };
  for (const { toolCalls = [] } of messages) {
    for (const { name } of toolCalls) if (!known.has(name) && own.size < maxOwn) own.add(makeLegal(name));
  }
  const called = messages.slice(0, end).flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => nameOf(name)));
  const stubs = new Set(called.filter((name) => !known.has(name)));
  return { tools: [...tools, ...[...stubs].map(makeStub)], nameOf };
}

function makeLegal(name: string): string {
  return name.replace(ILLEGAL_IN_NAMES, '_').slice(0, MAX_NAME_LENGTH);
}

function makeStub(name: string): ToolDescription {
  return {
    name,
    description: 'Not available any more: earlier messages used it. Do not call it.',
    parameters: { type: 'object', properties: {} },
  };
}

export interface DescribedTools extends SentTools {
  readonly prefix: string;
}

export interface ToolPlace {
  readonly format: RawFormat;
  readonly system: readonly string[];
  /** Indexes of the log's messages in the order in which they are sent, with tool results directly after their call. */
  readonly order: readonly Origin[];
}

/**
 * Adds placeholder descriptions of missing tools to a request. Anthropic invalidates thinking when the tools change
 * (wire rules A7, A8). A placeholder that is added during a tool loop would drop the loop's thinking. If the model
 * first calls a missing tool after the loop's first thinking, its placeholder is added when the loop has ended.
 * Anthropic accepts calls of undescribed tools until then.
 */
export function describeTools(request: WireRequest, { format, system, order }: ToolPlace): DescribedTools {
  const { tools, messages, model, version } = request;
  const fingerprint = (sent: SentTools): DescribedTools => ({ ...sent, prefix: fingerprintPrefix(system, sent.tools) });
  const all = fingerprint(sendTools(tools, messages));
  if (format !== 'anthropic' || all.tools.length === tools.length) return all;
  const thoughts = findLoop(messages, order).filter((origin) => countThoughts(messages[origin] as Message, format) > 0);
  for (const origin of thoughts) {
    const earlier = fingerprint(sendTools(tools, messages, origin));
    const binding = { format, model, version, prefix: earlier.prefix };
    if (earlier.tools.length > 0 && keepsThought(messages[origin] as Message, binding)) return earlier;
  }
  return all;
}

/**
 * Returns the indexes of the assistant messages in the current tool loop. User text directly after tool results does
 * not end a loop.
 */
function findLoop(messages: readonly Message[], order: readonly Origin[]): Origin[] {
  let loop: Origin[] = [];
  let isBehindResults = false;
  for (const origin of order) {
    const role = messages[origin]?.role;
    if (role === 'assistant') loop.push(origin);
    else if ((role === 'user' || role === 'summary') && !isBehindResults) loop = [];
    if (role === 'assistant' || role === 'tool') isBehindResults = role === 'tool';
  }
  return loop;
}

function keepsThought(message: Message, binding: Binding): boolean {
  return keptRawItems(message, binding)?.some(isThinking) === true;
}

/**
 * Returns a hash of the system texts and tools. Newer models accept their thinking back only with the same system texts
 * and tools (wire rule A8). When an agent's prompt or tools change, its context keeps its version number, so only this
 * hash shows that older thinking is invalid.
 */
function fingerprintPrefix(system: readonly string[], tools: readonly ToolDescription[]): string {
  return createHash('sha256')
    .update(JSON.stringify([system, tools]))
    .digest('hex')
    .slice(0, 16);
}
