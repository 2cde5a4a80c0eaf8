import { createHash } from 'node:crypto';
import type { Message } from '../domain/message.ts';
import type { ToolDescription } from '../domain/model.ts';

/** Characters that at least one provider refuses in the name of a tool. */
const ILLEGAL_IN_NAMES = /[^a-zA-Z0-9_-]/g;
const MAX_NAME_LENGTH = 64;

/** Maximum tools of one request to OpenAI. No other provider has a smaller limit. */
export const OPENAI_MAX_TOOLS = 128;

/** Placeholder that is sent for an agent without tools whose history has tool calls. */
const NO_TOOLS: ToolDescription = {
  name: 'unknown_tool',
  description: 'Not available: earlier messages used tools that no longer exist. Do not call it.',
  parameters: { type: 'object', properties: {} },
};

/**
 * Returns the agent's own tools, even if calls name others: a changed list would void the prompt cache and all
 * thinking. A history with calls and no tools gets a placeholder (wire rule X6).
 */
export function sendTools(
  tools: readonly ToolDescription[],
  messages: readonly Pick<Message, 'toolCalls'>[],
): readonly ToolDescription[] {
  const hasCalls = tools.length === 0 && messages.some(({ toolCalls }) => toolCalls !== undefined);
  return hasCalls ? [NO_TOOLS] : tools;
}

/** Makes the name of a called tool legal, because a model may invent one. Names of real tools never change. */
export function legalToolName(name: string, tools: ReadonlySet<string>): string {
  return tools.has(name) ? name : name.replace(ILLEGAL_IN_NAMES, '_').slice(0, MAX_NAME_LENGTH);
}

/** Hashes system texts and tools. Newer models refuse thinking that belongs to other texts or tools (wire rule A8). */
export function fingerprintPrefix(system: readonly string[], tools: readonly ToolDescription[]): string {
  return createHash('sha256')
    .update(JSON.stringify([system, tools]))
    .digest('hex')
    .slice(0, 16);
}
