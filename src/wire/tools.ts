import { createHash } from 'node:crypto';
import type { Message } from '../domain/message.ts';
import type { ToolDescription } from '../domain/model.ts';

/** Characters in tool names that at least one provider refuses. */
const ILLEGAL_IN_NAMES = /[^a-zA-Z0-9_-]/g;
const MAX_NAME_LENGTH = 64;

/** OpenAI's limit on the tools of one request. No other provider has a smaller limit. */
export const OPENAI_MAX_TOOLS = 128;

/** Description that is sent if the agent has no tools any more, but its history has calls. */
const NO_TOOLS: ToolDescription = {
  name: 'unknown_tool',
  description: 'Not available: earlier messages used tools that no longer exist. Do not call it.',
  parameters: { type: 'object', properties: {} },
};

/**
 * Returns the tools of a request: exactly the agent's own. A call of a tool that does not exist, or no longer, never
 * changes them. Providers accept such a call in the history, and a changed list would void the prompt cache and all
 * thinking (wire rule A8). Only a history with calls and no tools at all gets a placeholder (wire rule X6).
 */
export function sendTools(
  tools: readonly ToolDescription[],
  messages: readonly Pick<Message, 'toolCalls'>[],
): readonly ToolDescription[] {
  const hasCalls = tools.length === 0 && messages.some(({ toolCalls }) => toolCalls !== undefined);
  return hasCalls ? [NO_TOOLS] : tools;
}

/**
 * Returns the name under which a call is sent. The name of an existing tool never changes, because the model's answer
 * has to use it. In a name that the model invented, illegal characters are replaced.
 */
export function legalToolName(name: string, tools: ReadonlySet<string>): string {
  return tools.has(name) ? name : name.replace(ILLEGAL_IN_NAMES, '_').slice(0, MAX_NAME_LENGTH);
}

/**
 * Returns a hash of the system texts and tools. Newer models accept their thinking back only with the same system texts
 * and tools (wire rule A8). When an agent's prompt or tools change, its context keeps its version number, so only this
 * hash shows that older thinking is invalid.
 */
export function fingerprintPrefix(system: readonly string[], tools: readonly ToolDescription[]): string {
  return createHash('sha256')
    .update(JSON.stringify([system, tools]))
    .digest('hex')
    .slice(0, 16);
}
