import type { Message } from '../domain/message.ts';
import type { ToolDescription } from '../domain/model.ts';

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
export function sendTools(
  tools: readonly ToolDescription[],
  messages: readonly Message[],
  end = messages.length,
): SentTools {
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
