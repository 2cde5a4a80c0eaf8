import type { CallAnswer, OpenTurn } from '../../client/index.ts';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import type { CommandContext } from '../command-context.ts';
import type { ConversationOptions } from '../command-options.ts';
import { adviseAnswer, describeCalls, describeState } from '../describe-turn.ts';
import { readTextFile } from '../files.ts';
import { renameField } from '../name-typed.ts';
import { writeJson } from '../output.ts';

export interface OpenOptions extends ConversationOptions {
  readonly limit: number;
}

/** Lists a conversation's open turns, a line each, and says how to bring what they wait for. @returns the exit code */
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
  if (turns.length === 0) output.note('no open turn');
  if (turns.length < mailbox + scheduled) {
    output.note(`the first ${turns.length} of ${mailbox + scheduled}; --limit shows up to 1000`);
  }
  const [first] = turns;
  if (json || first === undefined) return 0;
  for (const line of adviseAnswer({ tenant, conversation: id, turn: first.turn }, first.waiting)) output.note(line);
  return 0;
}

/** An open turn in one line. */
export function describeOpen(turn: OpenTurn): string {
  return turn.dueAt === undefined ? describeState(turn) : `${describeState(turn)}  for ${describeDate(turn.dueAt)}`;
}

/** The last ms since epoch that is a date. Turns from before delays were bounded may be due later. */
const LAST_DATE = 8.64e15;

function describeDate(at: number): string {
  return at > LAST_DATE ? 'never' : new Date(at).toISOString();
}

export interface AnswerOptions extends ConversationOptions {
  readonly content?: string;
  readonly file?: string;
  readonly error?: boolean;
  readonly approve?: boolean;
  /** true: without a reason */
  readonly deny?: string | true;
}

interface WaitingCall {
  readonly id: string;
  readonly turn: string;
  readonly call: string;
}

/** Brings one thing that a turn waits for. @returns the exit code @throws as `client.answer` */
export async function answer(
  { client, output }: CommandContext,
  { id, turn, call }: WaitingCall,
  options: AnswerOptions,
): Promise<number> {
  const name = { tenant: options.tenant, conversation: id };
  const brought = { [call]: await readAnswer(options) };
  const outcome = await client.answer(name, turn, brought).catch((error: unknown) => {
    if (!isTurnfoldError(error) || error.field !== `answers.${call}`) throw error;
    if (error.code === 'conflict') throw renameField(error, 'call');
    throw renameField(nameExpected(error), nameAnswer(options));
  });
  if (options.json) writeJson(output, { ...name, turn, outcome });
  else output.line(`${turn}  ${outcome === 'answered' ? 'goes on' : 'waits for other calls still'}`);
  return 0;
}

/** What the API expects is an object; here an option makes it. */
function nameExpected({ code, field = '', message, details }: TurnfoldError): TurnfoldError {
  const said = message
    .replace('{content, isError?}', '--content or --file')
    .replace('{approved, why?}', '--approve or --deny');
  return new TurnfoldError(code, said, { field, ...(details !== undefined && { details }) });
}

/** The option that an answer was read from. */
function nameAnswer({ file, approve, deny }: AnswerOptions): string {
  if (approve) return '--approve';
  if (deny !== undefined) return '--deny';
  return file === undefined ? '--content' : '--file';
}

async function readAnswer({ content, file, error, approve, deny }: AnswerOptions): Promise<CallAnswer> {
  const told = [content, file, approve, deny].filter((option) => option !== undefined);
  if (told.length !== 1 || (error && content === undefined && file === undefined)) {
    const field = '--content';
    const why = 'say one of --content, --file (with --error where the tool failed), --approve and --deny';
    throw new TurnfoldError('invalid_input', `${field}: ${why}`, { field });
  }
  if (approve) return { approved: true };
  if (deny !== undefined) return deny === true ? { approved: false } : { approved: false, why: deny };
  return { content: content ?? (await readTextFile(file ?? '')), ...(error && { isError: true }) };
}

/** Cancels a turn. One that is settled stays as it is. @returns the exit code: 1 where it was settled otherwise */
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
