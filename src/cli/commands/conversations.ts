import type { ConversationsInput, ListedConversation, WaitingInput, WaitingTurn } from '../../api/client/index.ts';
import { DEFAULT_TENANT } from '../../domain/ids.ts';
import { writeJson, writeResult } from '../output.ts';
import type { ClientContext } from '../run-command.ts';
import { clipCell, formatMinute, formatTable, writeTable } from '../table.ts';
import { describeCall } from '../turn-text.ts';

interface ListOptions {
  /** Tenant to list. Absent: all tenants. */
  readonly tenant?: string;
  readonly after?: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** Options of `turnfold conversations`. The client validates `state`. */
export type ConversationsOptions = ListOptions & Pick<ConversationsInput, 'agent' | 'state'>;

const HEADER = ['conversation', 'agent', 'state', 'messages', 'open', 'last turn'];
const AGENT_WIDTH = 16;

/** Prints all conversations as one table. */
export async function showConversations(
  { client, output }: ClientContext,
  { json, limit, ...filter }: ConversationsOptions,
): Promise<number> {
  const found: ListedConversation[] = [];
  let { after } = filter;
  do {
    const page = await client.conversations({ ...filter, limit: limit - found.length, after });
    found.push(...page.conversations);
    after = page.next;
  } while (after !== undefined && found.length < limit);
  if (json) for (const conversation of found) writeJson(output, conversation);
  else if (found.length > 0) writeTable(output, formatTable([HEADER, ...found.map(describeRow)]));
  if (found.length === 0) output.note('no conversations');
  if (after !== undefined) output.note(`For more entries, add: --after ${after}`);
  return 0;
}

function describeRow({ tenant, conversation, agent, state, head, mailbox, lastTurn }: ListedConversation): string[] {
  return [
    tenant === DEFAULT_TENANT ? conversation : `${tenant}/${conversation}`,
    clipCell(agent, AGENT_WIDTH),
    state,
    String(head),
    String(mailbox),
    lastTurn === undefined ? '' : `${lastTurn.state} ${formatMinute(lastTurn.settledAt)}`,
  ];
}

/** Options of `turnfold waiting`. The client validates `for`. */
export type WaitingOptions = ListOptions & Pick<WaitingInput, 'for'>;

const WIDTH = 100;

/** Prints turns of all conversations that wait for a tool result or an approval, one page per command. */
export async function showWaiting(
  { client, output }: ClientContext,
  { json, limit, ...filter }: WaitingOptions,
): Promise<number> {
  let left = limit;
  let { after } = filter;
  do {
    const page = await client.waiting({ ...filter, limit: left, after });
    for (const turn of page.turns) writeResult(output, json, turn, ...describeWaitingTurn(turn));
    left -= page.turns.length;
    after = page.next;
  } while (after !== undefined && left > 0);
  if (left === limit) output.note('no turns wait for a tool result or an approval');
  if (after !== undefined) output.note(`For more entries, add: --after ${after}`);
  if (!json && left < limit)
    output.note('For whole arguments and the commands that answer, run: turnfold turns <conversation>');
  return 0;
}

function describeWaitingTurn({ tenant, conversation, turn, agent, waiting }: WaitingTurn): string[] {
  const whose = tenant === DEFAULT_TENANT ? '' : `  of tenant ${tenant}`;
  const { for: kind, since, calls } = waiting;
  return [
    `${conversation}  ${turn}${whose}`,
    `  ${clipCell(agent, 24)} waits for ${kind} since ${formatMinute(since)}`,
    ...calls.flatMap((call) => [
      clipCell(`  ${call.id}  ${describeCall(call)}`, WIDTH),
      `    until ${formatMinute(call.until)}`,
    ]),
  ];
}
