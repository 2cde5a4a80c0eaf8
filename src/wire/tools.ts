import { createHash } from 'node:crypto';
import type { Message } from '../domain/message.ts';
import type { ToolDescription } from '../domain/model.ts';
import type { WireFormat } from '../domain/raw-items.ts';
import { type Binding, countThoughts, isThinking, keptRawItems } from './raw-items.ts';
import type { Origin, WireRequest } from './wire-request.ts';

/** Tool names that every provider takes. */
const ILLEGAL_IN_NAMES = /[^a-zA-Z0-9_-]/g;
const MAX_NAME_LENGTH = 64;

/** Tools of one request, the least that a provider takes. */
export const OPENAI_MAX_TOOLS = 128;

/** Names that get a stub of their own; those that came later share one. */
const MAX_OWN_STUBS = 15;
const SHARED_STUB = 'unknown_tool';

export interface SentTools {
  readonly tools: readonly ToolDescription[];
  /** names of those that were put in */
  readonly stubs: ReadonlySet<string>;
  /** a call's name as it is sent */
  readonly nameOf: (name: string) => string;
}

/**
 * The tools of a request, and a stub for each that is gone while calls of it remain: providers refuse tool blocks that no
 * tool names (X6). A name that the model made up is made legal; a registered one is never touched, since the model's answer
 * has to name it. Who came first has a stub of its own, so that no later name changes what an earlier call is sent as.
 * @param end of the messages whose calls get stubs: an index; absent: all of them
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
  return { tools: [...tools, ...[...stubs].map(makeStub)], stubs, nameOf };
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
  /** fingerprint of the system texts and of these tools (A8) */
  readonly prefix: string;
}

export interface ToolPlace {
  readonly format: WireFormat;
  readonly system: readonly string[];
  /** origins of the messages as they are sent: results behind their call */
  readonly order: readonly Origin[];
}

/**
 * The tools of a request with their stubs. A stub that comes in the middle of a tool loop would stand before all that the model
 * thought in it, and cost it those thoughts (A7, A8): where thinking is bound to the tools, names that were made up since the
 * loop's first thought wait for theirs until the loop has ended. Their provider itself takes a name that nobody describes.
 */
export function describeTools(request: WireRequest, { format, system, order }: ToolPlace): DescribedTools {
  const { tools, messages, model, version } = request;
  const fingerprint = (sent: SentTools): DescribedTools => ({ ...sent, prefix: fingerprintPrefix(system, sent.tools) });
  const all = fingerprint(sendTools(tools, messages));
  if (format !== 'anthropic' || all.stubs.size === 0) return all;
  const thoughts = findLoop(messages, order).filter((origin) => countThoughts(messages[origin] as Message, format) > 0);
  for (const origin of thoughts) {
    const earlier = fingerprint(sendTools(tools, messages, origin));
    const binding = { format, model, version, prefix: earlier.prefix };
    if (earlier.tools.length > 0 && keepsThought(messages[origin] as Message, binding)) return earlier;
  }
  return all;
}

/** The assistant's messages since the user last spoke; what a user says behind results does not end the loop. */
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
 * Fingerprint of what stands before every message. Newer models bind their thinking to it as well (A8): an agent whose
 * prompt or tools changed keeps its version number, and must send no older thinking all the same.
 */
function fingerprintPrefix(system: readonly string[], tools: readonly ToolDescription[]): string {
  return createHash('sha256')
    .update(JSON.stringify([system, tools]))
    .digest('hex')
    .slice(0, 16);
}
