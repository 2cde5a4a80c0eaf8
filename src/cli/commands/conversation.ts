import { createHash } from 'node:crypto';
import type { OpenCallView, OpenTurns } from '../../api/client/index.ts';
import { writeJson, writeResult } from '../output.ts';
import type { ClientContext, ConversationOptions } from '../run-command.ts';
import { describeCall } from '../turn-text.ts';
import { describeOpen } from './turns.ts';

export async function describe(
  { client, output }: ClientContext,
  id: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const [state, open] = await Promise.all([
    client.describe({ tenant, conversation: id }),
    client.openTurns({ tenant, conversation: id }, { limit: 1 }),
  ]);
  const { agent, head, turns, size, passed, passId, openCalls, isForking, quarantine, conversationTtl } = state;
  const sent = size.weight.tokens + size.headTotal.tokens - size.baseTotal.tokens;
  const rows: [string, string | false | undefined][] = [
    ['agent', agent],
    ['log', `${head} messages (${turns} from users), ${size.headTotal.tokens} tokens`],
    ['context', `version ${size.version}, ${sent} tokens without system prompt and tools`],
    ['last pass', passed.head === 0 ? 'none' : `at message ${passed.head}`],
    ['pass', passId === undefined ? 'none in progress' : `${passId}, requested or in progress`],
    ...describeOpenTurns(open),
    ...openCalls.map((call): [string, string] => ['open call', describeOpenCall(call, open)]),
    ['refused', quarantine && `a provider refused version ${quarantine.version} of the context, which was rolled back`],
    [
      'idle TTL',
      conversationTtl !== undefined && `${conversationTtl / 1_000} s without work, then the conversation is erased`,
    ],
    ['fork', isForking && 'copy in progress: the conversation is incomplete'],
  ];
  const lines = rows.filter(([, what]) => what).map(([name, what]) => `  ${name.padEnd(10)}  ${what}`);
  writeResult(output, json, { tenant, conversation: id, ...state, openTurns: open }, id, ...lines);
  return 0;
}

function describeOpenTurns({ turns: [first], mailbox, scheduled }: OpenTurns): [string, string | false][] {
  if (first === undefined) return [['turn', 'none open']];
  const behind = Math.max(0, mailbox - 1);
  return [
    ['turn', describeOpen(first)],
    ['behind it', behind > 0 && `${behind} queued`],
    ['scheduled', scheduled > 0 && `${scheduled} (turnfold turns shows when they are due)`],
  ];
}

/**
 * Describes an open tool call. It belongs to the running or waiting turn, or to a caller that appends messages without
 * turns.
 */
function describeOpenCall(call: OpenCallView, { turns: [first] }: OpenTurns): string {
  const owner = first?.state === 'running' || first?.state === 'waiting' ? `, of ${first.turn}` : '';
  return `${call.id}  ${describeCall(call)}${owner}`;
}

export interface ForkOptions extends ConversationOptions {
  readonly version?: number;
  readonly head?: number;
}

/**
 * Copies a conversation. The operation id is a hash of the arguments, so repeating the same command resumes an
 * interrupted copy.
 */
export async function fork(
  { client, output }: ClientContext,
  id: string,
  newId: string,
  { tenant, json, version, head }: ForkOptions,
): Promise<number> {
  const point = { version, head };
  const hash = createHash('sha256')
    .update(JSON.stringify([id, point]))
    .digest('hex')
    .slice(0, 32);
  const copy = await client.fork(
    { tenant, conversation: id },
    { tenant, conversation: newId },
    { ...point, operation: `fork-${hash}` },
  );
  writeResult(output, json, copy, `${copy.conversation}  ${copy.head} messages, copied from ${id}`);
  return 0;
}

/** Erases a conversation. A missing conversation is not an error, so that the command can be repeated. */
export async function erase(
  { client, output }: ClientContext,
  id: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const { removedKeys } = await client.erase({ tenant, conversation: id });
  if (json) writeJson(output, { tenant, conversation: id, removedKeys });
  else if (removedKeys > 0) output.line(`${id}  erased (${removedKeys} Redis keys)`);
  else output.note(`tenant ${tenant} has no conversation ${id} (--tenant names another tenant)`);
  return 0;
}
