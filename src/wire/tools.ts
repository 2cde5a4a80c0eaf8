import { createHash } from 'node:crypto';
import type { Message } from '../domain/message.ts';
import type { ToolDescription } from '../domain/model.ts';

/** Characters in a tool name that at least one provider refuses. */
const ILLEGAL_IN_NAMES = /[^a-zA-Z0-9_-]/g;
const MAX_NAME_LENGTH = 64;

/** Maximum tools of one request to OpenAI. No other provider has a smaller limit. */
export const OPENAI_MAX_TOOLS = 128;

/** Placeholder for an agent that has no tools any more, but has calls in its history. */
const NO_TOOLS: ToolDescription = {
  name: 'unknown_tool',
  description: 'Not available: earlier messages used tools that no longer exist. Do not call it.',
  parameters: { type: 'object', properties: {} },
};

/**
 * Returns the agent's own tools, even if calls name others. Providers accept such calls, and a changed list would void
 * the prompt cache and all thinking (wire rule A8). A history with calls and no tools gets a placeholder (wire rule
 * X6).
 */
export function sendTools(
  tools: readonly ToolDescription[],
  messages: readonly Pick<Message, 'toolCalls'>[],
): readonly ToolDescription[] {
  const hasCalls = tools.length === 0 && messages.some(({ toolCalls }) => toolCalls !== undefined);
  return hasCalls ? [NO_TOOLS] : tools;
}

/**
 * Returns a legal tool name. A name that the model invented gets legal characters. The name of a real tool never
 * changes.
 */
export function legalToolName(name: string, tools: ReadonlySet<string>): string {
  return tools.has(name) ? name : name.replace(ILLEGAL_IN_NAMES, '_').slice(0, MAX_NAME_LENGTH);
}

/**
 * Hashes what newer models compare before they accept their thinking back (wire rule A8). A changed prompt leaves the
 * context's version, so only this hash shows that older thinking is invalid.
 */
export function fingerprintPrefix(system: readonly string[], tools: readonly ToolDescription[]): string {
  return createHash('sha256')
    .update(JSON.stringify([system, tools]))
    .digest('hex')
    .slice(0, 16);
}
