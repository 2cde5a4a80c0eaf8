import type { TurnPart } from '../../api/client/index.ts';
import type { NamedConversation } from '../../domain/ids.ts';
import { isSettled, type TurnView } from '../../domain/turn.ts';
import { writeJson, writeResult } from '../output.ts';
import type { ClientContext, ConversationOptions } from '../run-command.ts';
import { adviseAnswer, describeCalls, describeState, describeTurn, TurnPage, tenantFlag } from '../turn-text.ts';

export interface FollowOptions extends ConversationOptions {
  /** Time to wait, in seconds. 0 prints the current state, or with `--stream` follows the turn until it settles. */
  readonly wait: number;
  readonly stream?: boolean;
}

/** @returns the exit code: 1 if the wait ended without an answer */
export async function showTurn(
  context: ClientContext,
  id: string,
  turn: string,
  options: FollowOptions,
): Promise<number> {
  const { wait, stream = false } = options;
  const view = await (stream ? streamTurn : printTurn)(context, id, turn, options);
  if (wait === 0 && !stream) return 0;
  if (!isSettled(view.state)) {
    const again = `turnfold result ${id} ${turn}${tenantFlag(options.tenant)} --wait ${wait}`;
    context.output.note(`turn not settled within ${wait} s. To keep waiting, run: ${again}`);
  }
  return view.state === 'completed' ? 0 : 1;
}

async function printTurn(
  { client, output }: ClientContext,
  id: string,
  turn: string,
  { tenant, wait, json }: FollowOptions,
): Promise<TurnView> {
  const waitMs = wait * 1_000;
  const name = { tenant, conversation: id };
  const view =
    json || waitMs === 0
      ? await client.result(name, turn, { waitMs })
      : await followTurn({ client, output }, { name, turn, waitMs }, () => undefined);
  writeResult(output, json, view, view.answer?.content ?? describeTurn(view));
  return view;
}

async function streamTurn(
  { client, output }: ClientContext,
  id: string,
  turn: string,
  { tenant, wait, json = false }: FollowOptions,
): Promise<TurnView> {
  const page = new TurnPage(output);
  const view = await followTurn(
    { client, output },
    { name: { tenant, conversation: id }, turn, waitMs: wait * 1_000, json },
    (part) => {
      if (json) writeJson(output, part);
      else if (part.type === 'wait' || part.type === 'behind') page.breakLine();
      else page.add(part);
    },
  );
  if (!json) page.end(view);
  return view;
}

interface Followed {
  readonly name: NamedConversation;
  readonly turn: string;
  /** Time to follow the turn. 0: until the turn settles. */
  readonly waitMs: number;
  readonly json?: boolean;
}

/** Prints the calls that the turn waits for. @returns the turn as it was at the end */
async function followTurn(
  { client, output }: ClientContext,
  { name, turn, waitMs, json = false }: Followed,
  onPart: (part: TurnPart) => void,
): Promise<TurnView> {
  for await (const part of client.stream(name, turn, waitMs === 0 ? {} : { waitMs })) {
    onPart(part);
    if (part.type === 'end') return part.view;
    if ((part.type !== 'wait' && part.type !== 'behind') || json) continue;
    const { waiting } = part;
    const waiter = part.type === 'behind' ? part.turn : turn;
    if (waiter !== turn) output.note(`${turn} is queued behind ${waiter}:`);
    const lines = [describeState({ turn: waiter, state: 'waiting', waiting }), ...describeCalls(waiting)];
    for (const line of [...lines, ...adviseAnswer({ ...name, turn: waiter }, waiting)]) output.note(line);
  }
  throw new Error(`the stream of turn ${turn} ended without a result. Read the result with turnfold result`);
}
