import type { CallAnswer } from '../../client/index.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import type { CommandContext } from '../command-context.ts';
import type { ConversationOptions } from '../command-options.ts';
import { readTextFile } from '../files.ts';
import { writeJson } from '../output.ts';

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
  const outcome = await client.answer({ tenant: options.tenant, id }, turn, { [call]: await readAnswer(options) });
  if (options.json) writeJson(output, { conversation: id, turn, outcome });
  else output.line(`${turn}  ${outcome === 'going_on' ? 'goes on' : 'waits for other calls still'}`);
  return 0;
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
  const state = await client.cancel({ tenant, id }, turn);
  if (json) writeJson(output, { conversation: id, turn, state });
  else output.line(`${turn}  ${state}`);
  return state === 'canceled' ? 0 : 1;
}
