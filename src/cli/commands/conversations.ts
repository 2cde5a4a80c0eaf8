import type { ConversationsInput, ListedConversation, WaitingInput, WaitingTurn } from '../../client/index.ts';
import { DEFAULT_TENANT } from '../../domain/ids.ts';
import { writeJson } from '../output.ts';
import { clipCell, formatMinute, formatTable, writeTable } from '../table.ts';
import { describeCall } from '../turn-text.ts';
import type { CommandContext } from '../with-client.ts';

export interface ConversationsOptions extends ListOptions {
  readonly agent?: string;
  /** Checked by the client. */
  readonly state?: string;
}

const HEADER = ['conversation', 'agent', 'state', 'messages', 'open', 'last turn'];
const AGENT_WIDTH = 16;

/** Lists conversations. @returns the exit code */
export async function showConversations(
  { client, output }: CommandContext,
  { json, limit, ...filter }: ConversationsOptions,
): Promise<number> {
  const found: ListedConversation[] = [];
  let { after } = filter;
  do {
    const input = { ...filter, limit: limit - found.length, ...(after !== undefined && { after }) };
    const page = await client.conversations(input as ConversationsInput);
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

export interface ListOptions {
  /** Absent: all tenants. */
  readonly tenant?: string;
  /** Place where an earlier list ended. */
  readonly after?: string;
  readonly limit: number;
  readonly json?: boolean;
}

export interface WaitingOptions extends ListOptions {
  /** `tools` or `approval`. Checked by the client. */
  readonly for?: string;
}

const WIDTH = 100;

/** Lists turns of all conversations that wait for a tool result or an approval. @returns the exit code */
export async function showWaiting(
  { client, output }: CommandContext,
  { json, limit, ...filter }: WaitingOptions,
): Promise<number> {
  let left = limit;
  let { after } = filter;
  do {
    const input = { ...filter, limit: left, ...(after !== undefined && { after }) };
    const page = await client.waiting(input as WaitingInput);
    for (const turn of page.turns) {
      if (json) writeJson(output, turn);
      else for (const line of describeWaitingTurn(turn)) output.line(line);
    }
    left -= page.turns.length;
    after = page.next;
  } while (after !== undefined && left > 0);
  if (left === limit) output.note('no turns wait for an answer');
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
