import type { Message } from '../domain/message.ts';
import type { ToolDescription } from '../domain/model.ts';

/** Tool names that every provider takes. */
const ILLEGAL_IN_NAMES = /[^a-zA-Z0-9_-]/g;
const MAX_NAME_LENGTH = 64;

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
 * has to name it.
 */
export function sendTools(tools: readonly ToolDescription[], messages: readonly Message[]): SentTools {
  const known = new Set(tools.map((tool) => tool.name));
  const stubs = new Set<string>();
  const nameOf = (name: string): string =>
    known.has(name) ? name : name.replace(ILLEGAL_IN_NAMES, '_').slice(0, MAX_NAME_LENGTH);
  for (const { toolCalls = [] } of messages) {
    for (const { name } of toolCalls) if (!known.has(nameOf(name))) stubs.add(nameOf(name));
  }
  return { tools: [...tools, ...[...stubs].map(makeStub)], stubs, nameOf };
}

function makeStub(name: string): ToolDescription {
  return {
    name,
    description: 'Not available any more: earlier messages used it. Do not call it.',
    parameters: { type: 'object', properties: {} },
  };
}
