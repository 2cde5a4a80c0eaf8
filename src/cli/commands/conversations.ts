import type { ConversationsInput, ListedConversation } from '../../client/index.ts';
import { DEFAULT_TENANT } from '../../domain/ids.ts';
import type { CommandContext } from '../command-context.ts';
import { writeJson } from '../output.ts';
import { clipCell, formatMinute, formatTable, writeTable } from '../table.ts';
import type { ListOptions } from './waiting.ts';

export interface ConversationsOptions extends ListOptions {
  readonly agent?: string;
  /** a state of the list; the client refuses anything else */
  readonly state?: string;
}

const HEADER = ['conversation', 'agent', 'state', 'messages', 'open', 'last turn'];
const AGENT_WIDTH = 16;

/** Lists conversations, by tenant, agent or state. @returns the exit code */
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
  if (json) for (const one of found) writeJson(output, one);
  else if (found.length > 0) writeTable(output, formatTable([HEADER, ...found.map(describeRow)]));
  if (found.length === 0) output.note('no conversation');
  if (after !== undefined) output.note(`more: --after ${after}`);
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
