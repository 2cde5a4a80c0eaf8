import type { CommandContext } from '../command-context.ts';
import type { ConversationOptions } from '../command-options.ts';
import { writeJson } from '../output.ts';

/**
 * Removes a conversation for good. Where none is there it says so and has not failed: an erase that is made again must not.
 * @returns the exit code
 */
export async function erase(
  { client, output }: CommandContext,
  id: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const { removedKeys } = await client.erase({ tenant, conversation: id });
  if (json) writeJson(output, { tenant, conversation: id, removedKeys });
  else if (removedKeys > 0) output.line(`${id}  erased, ${removedKeys} keys of Redis`);
  else output.note(`nothing was there as ${id} of tenant ${tenant}; --tenant looks in another`);
  return 0;
}
