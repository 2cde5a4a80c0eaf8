import type { TurnProgress } from '../../client/index.ts';
import { DEFAULT_TENANT, type NamedConversation } from '../../domain/ids.ts';
import { isSettled, type TurnView } from '../../domain/turn.ts';
import type { ConversationOptions } from '../command-options.ts';
import { writeJson } from '../output.ts';
import { adviseAnswer, describeCalls, describeState, describeTurn, TurnPage } from '../turn-text.ts';
import type { CommandContext } from '../with-client.ts';

export interface TellOptions extends ConversationOptions {
  /** ms to wait for the answer; 0 tells how the turn stands, or streams until it is settled */
  readonly waitMs: number;
  /** print the text as it is written */
  readonly stream?: boolean;
}

/** Prints a turn as it stands, or as it ends. @returns the exit code: 1 where it waited and there is no answer */
export async function tellTurn(
  context: CommandContext,
  id: string,
  turn: string,
  options: TellOptions,
): Promise<number> {
  const { waitMs, stream = false } = options;
  const view = await (stream ? streamTurn : printTurn)(context, id, turn, options);
  if (waitMs === 0 && !stream) return 0;
  if (!isSettled(view.state)) {
    const whose = options.tenant === DEFAULT_TENANT ? '' : ` --tenant ${options.tenant}`;
    const again = `turnfold result ${id} ${turn}${whose} --wait ${waitMs / 1_000}`;
    context.output.note(`not settled within ${waitMs / 1_000} s; ${again} goes on waiting`);
  }
  return view.state === 'completed' ? 0 : 1;
}

async function printTurn(
  { client, output }: CommandContext,
  id: string,
  turn: string,
  { tenant, waitMs, json }: TellOptions,
): Promise<TurnView> {
  const name = { tenant, conversation: id };
  const view =
    json || waitMs === 0
      ? await client.result(name, turn, { waitMs })
      : await followTurn({ client, output }, { name, turn, waitMs }, () => undefined);
  if (json) writeJson(output, view);
  else output.line(view.answer?.content ?? describeTurn(view));
  return view;
}

/** Prints a turn's text as it is written. @returns the turn at the end */
async function streamTurn(
  { client, output }: CommandContext,
  id: string,
  turn: string,
  { tenant, waitMs, json = false }: TellOptions,
): Promise<TurnView> {
  const page = new TurnPage(output);
  const view = await followTurn(
    { client, output },
    { name: { tenant, conversation: id }, turn, waitMs, json },
    (part) => {
      if (json) writeJson(output, part);
      else if (part.type === 'waiting') page.breakLine();
      else page.add(part);
    },
  );
  if (json) writeJson(output, { type: 'result', view });
  else page.end(view);
  return view;
}

interface Followed {
  readonly name: NamedConversation;
  readonly turn: string;
  /** 0: until the turn is settled */
  readonly waitMs: number;
  readonly json?: boolean;
}

/** Follows a turn, and says what it waits for as soon as it waits. @returns the turn at the end */
async function followTurn(
  { client, output }: CommandContext,
  { name, turn, waitMs, json = false }: Followed,
  tell: (part: Exclude<TurnProgress, { readonly type: 'result' }>) => void,
): Promise<TurnView> {
  for await (const part of client.stream(name, turn, waitMs === 0 ? {} : { waitMs })) {
    if (part.type === 'result') return part.view;
    tell(part);
    if (part.type !== 'waiting' || json) continue;
    const { waiting } = part;
    const lines = [describeState({ turn, state: 'waiting', waiting }), ...describeCalls(waiting)];
    for (const line of [...lines, ...adviseAnswer({ ...name, turn }, waiting)]) output.note(line);
  }
  throw new Error(`the stream of ${turn} ended without a result`);
}
