import { createHash } from 'node:crypto';
import type { CommandContext } from '../command-context.ts';
import type { ConversationOptions } from '../command-options.ts';
import { writeJson } from '../output.ts';

export interface ForkOptions extends ConversationOptions {
  readonly version?: number;
  readonly head?: number;
}

/** Copies a conversation into a new one. Called again after it was cut off, it goes on. @returns the exit code */
export async function fork(
  { client, output }: CommandContext,
  id: string,
  newId: string,
  { tenant, json, ...at }: ForkOptions,
): Promise<number> {
  const point = {
    ...(at.version === undefined ? {} : { version: at.version }),
    ...(at.head === undefined ? {} : { head: at.head }),
  };
  const hash = createHash('sha256')
    .update(JSON.stringify([id, point]))
    .digest('hex')
    .slice(0, 32);
  const made = await client.fork(
    { tenant, conversation: id },
    { tenant, conversation: newId },
    { ...point, operation: `fork-${hash}` },
  );
  if (json) writeJson(output, made);
  else output.line(`${made.conversation}  ${made.head} messages, copied from ${id}`);
  return 0;
}
