import type { Message } from '../domain/message.ts';
import type { WireFormat } from '../domain/raw-items.ts';
import { type Binding, countThoughts, isThinking, keptRawItems } from './kept-items.ts';
import { fingerprintPrefix } from './prefix.ts';
import { type SentTools, sendTools } from './sent-tools.ts';
import type { Origin, WireRequest } from './wire-request.ts';

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
