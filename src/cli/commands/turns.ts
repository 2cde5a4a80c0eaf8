import type { CallAnswer, OpenTurn } from '../../client/index.ts';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import type { ConversationOptions } from '../command-options.ts';
import { readTextFile } from '../files.ts';
import { readTurnContext } from '../option-values.ts';
import { writeJson } from '../output.ts';
import { adviseAnswer, describeCalls, describeState } from '../turn-text.ts';
import { renameField } from '../typed-errors.ts';
import type { CommandContext } from '../with-client.ts';
import { type FollowOptions, showTurn } from './follow-turn.ts';

export interface OpenOptions extends ConversationOptions {
  readonly limit: number;
}

/** Lists the open turns of a conversation, with the commands that answer their calls. @returns the exit code */
export async function showOpen(
  { client, output }: CommandContext,
  id: string,
  { tenant, limit, json }: OpenOptions,
): Promise<number> {
  const { turns, mailbox, scheduled } = await client.openTurns({ tenant, conversation: id }, { limit });
  for (const turn of turns) {
    if (json) {
      writeJson(output, { tenant, conversation: id, ...turn });
      continue;
    }
    output.line(`${describeOpen(turn)}  accepted ${new Date(turn.acceptedAt).toISOString()}`);
    for (const line of describeCalls(turn.waiting)) output.line(line);
  }
  if (turns.length === 0) output.note('no open turns');
  if (turns.length < mailbox + scheduled) {
    output.note(`first ${turns.length} of ${mailbox + scheduled} turns (--limit up to 1000)`);
  }
  const [first] = turns;
  if (json || first === undefined) return 0;
  for (const line of adviseAnswer({ tenant, conversation: id, turn: first.turn }, first.waiting)) output.note(line);
  return 0;
}

export function describeOpen(turn: OpenTurn): string {
  const state = describeState(turn);
  return turn.dueAt === undefined ? state : `${state}  for ${new Date(turn.dueAt).toISOString()}`;
}

export interface AnswerOptions extends ConversationOptions {
  readonly content?: string;
  readonly file?: string;
  readonly error?: boolean;
  readonly approve?: boolean;
  /** True if no reason was given. */
  readonly deny?: string | true;
}

interface WaitingCall {
  readonly id: string;
  readonly turn: string;
  readonly call: string;
}

/** Answers one call that a turn waits for. @returns the exit code */
export async function answer(
  { client, output }: CommandContext,
  { id, turn, call }: WaitingCall,
  options: AnswerOptions,
): Promise<number> {
  const name = { tenant: options.tenant, conversation: id };
  const answers = { [call]: await readAnswer(options) };
  const outcome = await client.answer(name, turn, answers).catch((error: unknown) => {
    if (!isTurnfoldError(error) || error.field !== `answers.${call}`) throw error;
    if (error.code === 'conflict') throw renameField(error, 'call');
    throw renameField(wordWrongKind(error, turn), nameAnswer(options));
  });
  if (options.json) writeJson(output, { ...name, turn, outcome });
  else output.line(`${turn}  ${outcome === 'answered' ? 'continues' : 'still waits for other calls'}`);
  return 0;
}

/** The API expects an object of another kind. A person has to use another option. */
function wordWrongKind(error: TurnfoldError, turn: string): TurnfoldError {
  const { code, field = '', details } = error;
  if (details?.['for'] === undefined) return error;
  const expected =
    details['for'] === 'tools' ? 'a tool result. Use --content or --file.' : 'an approval. Use --approve or --deny.';
  return new TurnfoldError(code, `${field}: turn ${turn} waits for ${expected}`, { field, details, cause: error });
}

/** The option of the answer. */
function nameAnswer({ file, approve, deny }: AnswerOptions): string {
  if (approve) return '--approve';
  if (deny !== undefined) return '--deny';
  return file === undefined ? '--content' : '--file';
}

async function readAnswer({ content, file, error, approve, deny }: AnswerOptions): Promise<CallAnswer> {
  const given = [content, file, approve, deny].filter((option) => option !== undefined);
  if (given.length !== 1 || (error && content === undefined && file === undefined)) {
    const field = '--content';
    const why = 'give one of --content, --file, --approve and --deny (--error goes with --content or --file)';
    throw new TurnfoldError('invalid_input', `${field}: ${why}`, { field });
  }
  if (approve) return { approved: true };
  if (deny !== undefined) return deny === true ? { approved: false } : { approved: false, why: deny };
  return { content: content ?? (await readTextFile(file ?? '')), ...(error && { isError: true }) };
}

/** Cancels an open turn. @returns the exit code: 1 if the turn has settled in another state */
export async function cancel(
  { client, output }: CommandContext,
  id: string,
  turn: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const state = await client.cancel({ tenant, conversation: id }, turn);
  if (json) writeJson(output, { tenant, conversation: id, turn, state });
  else output.line(`${turn}  ${state}`);
  return state === 'canceled' ? 0 : 1;
}

export interface EnqueueOptions extends FollowOptions {
  readonly agent: string;
  readonly turn?: string;
  /** JSON or `@file`. */
  readonly context?: string;
}

/** Enqueues a turn and may wait for its answer. @returns the exit code: 1 if it waited without an answer */
export async function enqueue(
  context: CommandContext,
  id: string,
  text: string,
  options: EnqueueOptions,
): Promise<number> {
  const { client, output } = context;
  const { agent, tenant, turn, wait, stream = false, json } = options;
  const given = { ...(turn !== undefined && { turn }), ...(await readTurnContext(options.context)) };
  const input = { conversation: id, tenant, agent, input: text, ...given };
  const accepted = await client.enqueueTurn(input);
  if (wait > 0 || stream) return await showTurn(context, id, accepted.turn, options);
  if (json) writeJson(output, accepted);
  else output.line(`${accepted.turn}  ${accepted.state}`);
  return 0;
}
