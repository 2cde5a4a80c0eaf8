import type { WaitingInput, WaitingTurn } from '../../client/index.ts';
import { DEFAULT_TENANT } from '../../domain/ids.ts';
import type { CommandContext } from '../command-context.ts';
import { describeCall } from '../describe-turn.ts';
import { writeJson } from '../output.ts';
import { clipCell, formatMinute } from '../table.ts';

/** What a list over all conversations is asked for. */
export interface ListOptions {
  /** absent: all tenants */
  readonly tenant?: string;
  /** where the list was left */
  readonly after?: string;
  readonly limit: number;
  readonly json?: boolean;
}

export interface WaitingOptions extends ListOptions {
  /** `tools` or `approval`; the client refuses anything else */
  readonly for?: string;
}

const WIDTH = 100;

/** Lists turns of all conversations that wait for results from outside or for decisions. @returns the exit code */
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
  if (left === limit) output.note('no turn waits for an answer');
  if (after !== undefined) output.note(`more: --after ${after}`);
  if (!json && left < limit) output.note('turnfold turns <conversation> shows arguments whole, and how to answer');
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
