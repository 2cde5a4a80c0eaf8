import type { CommandContext } from '../command-context.ts';
import type { ConversationOptions } from '../command-options.ts';
import { writeJson } from '../output.ts';

/** Prints what one read of a conversation tells. @returns the exit code */
export async function describe(
  { client, output }: CommandContext,
  id: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const state = await client.describe({ tenant, id });
  if (json) {
    writeJson(output, { conversation: id, ...state });
    return 0;
  }
  const { agent, head, turns, size, passed, passId, openCalls, isForking, quarantine, conversationTtl } = state;
  const sent = size.weight.tokens + size.headTotal.tokens - size.baseTotal.tokens;
  const rest = conversationTtl === undefined ? undefined : `for ${conversationTtl / 1_000} s, then it is erased`;
  const lines: [string, string | undefined][] = [
    ['agent', agent],
    ['log', `${head} messages, ${turns} of them from users; ${size.headTotal.tokens} tokens`],
    ['context', `version ${size.version}; ${sent} tokens, system prompt and tools not counted`],
    ['last pass', passed.head === 0 ? 'none' : `at message ${passed.head}`],
    ['pass', passId === undefined ? 'none in progress' : `${passId}, requested or in progress`],
    ['open calls', openCalls.length === 0 ? undefined : openCalls.map(({ id: call }) => call).join(', ')],
    ['refused', quarantine && `version ${quarantine.version} stands over one that a provider refused`],
    ['may rest', rest],
    ['fork', isForking && 'it is being copied: not all of it is there'],
  ];
  output.line(id);
  for (const [name, what] of lines) if (what !== undefined) output.line(`  ${name.padEnd(10)}  ${what}`);
  return 0;
}

/** Removes a conversation for good. @returns the exit code */
export async function erase(
  { client, output }: CommandContext,
  id: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const { removedKeys } = await client.erase({ tenant, id });
  if (json) writeJson(output, { conversation: id, removedKeys });
  else output.line(`${id}  erased, ${removedKeys} keys of Redis`);
  return 0;
}
