import { createHash } from 'node:crypto';
import type { OpenCallView, OpenTurns } from '../../client/index.ts';
import type { ConversationOptions } from '../command-options.ts';
import { writeJson } from '../output.ts';
import { describeCall } from '../turn-text.ts';
import type { CommandContext } from '../with-client.ts';
import { describeOpen } from './turns.ts';

/** Prints what one read of a conversation tells. @returns the exit code */
export async function describe(
  { client, output }: CommandContext,
  id: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const [state, open] = await Promise.all([
    client.describe({ tenant, conversation: id }),
    client.openTurns({ tenant, conversation: id }, { limit: 1 }),
  ]);
  if (json) {
    writeJson(output, { tenant, conversation: id, ...state, openTurns: open });
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
    ...tellOpen(open),
    ...openCalls.map((call): [string, string] => ['open call', tellCall(call, open)]),
    ['refused', quarantine && `version ${quarantine.version} stands over one that a provider refused`],
    ['may rest', rest],
    ['fork', isForking && 'it is being copied: not all of it is there'],
  ];
  output.line(id);
  for (const [name, what] of lines) if (what !== undefined) output.line(`  ${name.padEnd(10)}  ${what}`);
  return 0;
}

/** The turn that all others wait behind, and how many those are. */
function tellOpen({ turns: [first], mailbox, scheduled }: OpenTurns): [string, string | undefined][] {
  if (first === undefined) return [['turn', 'none is open']];
  const behind = Math.max(0, mailbox - 1);
  return [
    ['turn', describeOpen(first)],
    ['behind it', behind === 0 ? undefined : `${behind} queued`],
    ['scheduled', scheduled === 0 ? undefined : `${scheduled}; turnfold turns shows when they are due`],
  ];
}

/** Open calls are those of the turn that is at work or waits; with none they are those of a caller's own loop. */
function tellCall(call: OpenCallView, { turns: [first] }: OpenTurns): string {
  const whose = first?.state === 'running' || first?.state === 'waiting' ? `, made by ${first.turn}` : '';
  return `${call.id}  ${describeCall(call)}${whose}`;
}

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
