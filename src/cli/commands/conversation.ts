import { createHash } from 'node:crypto';
import type { OpenCallView, OpenTurns } from '../../client/index.ts';
import type { ConversationOptions } from '../command-options.ts';
import { writeJson } from '../output.ts';
import { describeCall } from '../turn-text.ts';
import type { CommandContext } from '../with-client.ts';
import { describeOpen } from './turns.ts';

/** Prints the state of a conversation, without messages. @returns the exit code */
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
  const idleTtl =
    conversationTtl === undefined
      ? undefined
      : `${conversationTtl / 1_000} s without work, then the conversation is erased`;
  const lines: [string, string | undefined][] = [
    ['agent', agent],
    ['log', `${head} messages (${turns} from users), ${size.headTotal.tokens} tokens`],
    ['context', `version ${size.version}, ${sent} tokens without system prompt and tools`],
    ['last pass', passed.head === 0 ? 'none' : `at message ${passed.head}`],
    ['pass', passId === undefined ? 'none in progress' : `${passId}, requested or in progress`],
    ...describeOpenTurns(open),
    ...openCalls.map((call): [string, string] => ['open call', describeOpenCall(call, open)]),
    ['refused', quarantine && `a provider refused the version under version ${quarantine.version}`],
    ['idle TTL', idleTtl],
    ['fork', isForking && 'copy in progress: the conversation is incomplete'],
  ];
  output.line(id);
  for (const [name, what] of lines) if (what !== undefined) output.line(`  ${name.padEnd(10)}  ${what}`);
  return 0;
}

/** The first open turn and the numbers of the others. */
function describeOpenTurns({ turns: [first], mailbox, scheduled }: OpenTurns): [string, string | undefined][] {
  if (first === undefined) return [['turn', 'none open']];
  const behind = Math.max(0, mailbox - 1);
  return [
    ['turn', describeOpen(first)],
    ['behind it', behind === 0 ? undefined : `${behind} queued`],
    ['scheduled', scheduled === 0 ? undefined : `${scheduled} (turnfold turns shows when they are due)`],
  ];
}

/** Open calls belong to the running or waiting turn. Without one they belong to the caller's own loop. */
function describeOpenCall(call: OpenCallView, { turns: [first] }: OpenTurns): string {
  const owner = first?.state === 'running' || first?.state === 'waiting' ? `, of ${first.turn}` : '';
  return `${call.id}  ${describeCall(call)}${owner}`;
}

export interface ForkOptions extends ConversationOptions {
  readonly version?: number;
  readonly head?: number;
}

/** Copies a conversation. The operation id follows from the arguments, so the same command resumes an interrupted copy. */
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
  const copy = await client.fork(
    { tenant, conversation: id },
    { tenant, conversation: newId },
    { ...point, operation: `fork-${hash}` },
  );
  if (json) writeJson(output, copy);
  else output.line(`${copy.conversation}  ${copy.head} messages, copied from ${id}`);
  return 0;
}

/** Erases a conversation. A missing conversation is no failure, so that an erase can be repeated. @returns the exit code */
export async function erase(
  { client, output }: CommandContext,
  id: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const { removedKeys } = await client.erase({ tenant, conversation: id });
  if (json) writeJson(output, { tenant, conversation: id, removedKeys });
  else if (removedKeys > 0) output.line(`${id}  erased (${removedKeys} Redis keys)`);
  else output.note(`tenant ${tenant} has no conversation ${id} (--tenant names another tenant)`);
  return 0;
}
