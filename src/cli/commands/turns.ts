import type { CallAnswer } from '../../api/client/index.ts';
import { fieldError, isTurnfoldError, type TurnfoldError } from '../../domain/errors.ts';
import { DEFAULT_TENANT } from '../../domain/ids.ts';
import type { OnBusy } from '../../domain/turn.ts';
import { readAttachedFiles } from '../attached-files.ts';
import { readTextFile } from '../files.ts';
import {
  type OwnOptions,
  parsePeriod,
  readContextOption,
  readMetadataOption,
  readOwnOptions,
  readPeriod,
} from '../option-values.ts';
import { writeResult } from '../output.ts';
import type { ClientContext, ConversationOptions, ListOptions } from '../run-command.ts';
import { adviseAnswer, describeCalls, describeOpen } from '../turn-text.ts';
import { renameField } from '../typed-errors.ts';
import { type FollowOptions, showTurn } from './follow-turn.ts';

interface OpenOptions extends ConversationOptions {
  readonly limit: number;
}

export async function showOpen(
  { client, output }: ClientContext,
  id: string,
  { tenant, limit, json }: OpenOptions,
): Promise<number> {
  const { turns, mailbox, scheduled } = await client.openTurns({ tenant, conversation: id }, { limit });
  for (const turn of turns) {
    const line = `${describeOpen(turn)}  accepted ${new Date(turn.acceptedAt).toISOString()}`;
    writeResult(output, json, { tenant, conversation: id, ...turn }, line, ...describeCalls(turn.waiting));
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

interface AnswerOptions extends ConversationOptions {
  readonly content?: string;
  readonly file?: string;
  readonly error?: boolean;
  readonly approve?: boolean;
  /** Reason of a denial, or `true` if the option has no reason. */
  readonly deny?: string | true;
  readonly hash?: string;
  readonly by?: string;
}

export async function answer(
  { client, output }: ClientContext,
  ...[id, turn, call, options]: [string, string, string, AnswerOptions]
): Promise<number> {
  const name = { tenant: options.tenant, conversation: id };
  const { hash, by } = options;
  const answers = { [call]: { ...(await readAnswer(options)), hash, by } };
  const outcome = await client.answer(name, turn, answers).catch((error: unknown) => {
    if (!isTurnfoldError(error) || error.field !== `answers.${call}`) throw error;
    if (error.code === 'conflict') throw renameField(error, 'call');
    throw renameField(wordWrongKind(error, turn), nameAnswer(options));
  });
  const state = outcome === 'answered' ? 'continues' : 'the turn still waits for answers to other calls';
  writeResult(output, options.json, { ...name, turn, outcome }, `${turn}  ${state}`);
  return 0;
}

/** The API error describes an object, but a person has to use another option. */
function wordWrongKind(error: TurnfoldError, turn: string): TurnfoldError {
  const { code, field = '', details } = error;
  if (details?.['for'] === undefined) return error;
  const expected =
    details['for'] === 'tools'
      ? 'a tool result, but the command gives an approval. Use --content or --file.'
      : 'an approval, but the command gives a tool result. Use --approve or --deny.';
  return fieldError(code, field, `turn ${turn} waits for ${expected}`, { details, cause: error });
}

function nameAnswer({ file, approve, deny }: AnswerOptions): string {
  if (approve) return '--approve';
  if (deny !== undefined) return '--deny';
  return file === undefined ? '--content' : '--file';
}

async function readAnswer({ content, file, error, approve, deny }: AnswerOptions): Promise<CallAnswer> {
  const typed = [content, file, approve, deny].filter((option) => option !== undefined);
  if (typed.length !== 1 || (error && content === undefined && file === undefined)) {
    const why = 'use exactly one of --content, --file, --approve and --deny (--error needs --content or --file)';
    throw fieldError('invalid_input', '--content', why);
  }
  if (approve) return { approved: true };
  if (deny !== undefined) return deny === true ? { approved: false } : { approved: false, why: deny };
  return { content: content ?? (await readTextFile(file ?? '')), ...(error && { isError: true }) };
}

/** @returns the exit code: 1 if the turn has settled in another state */
export async function cancel(
  { client, output }: ClientContext,
  id: string,
  turn: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const state = await client.cancel({ tenant, conversation: id }, turn);
  writeResult(output, json, { tenant, conversation: id, turn, state }, `${turn}  ${state}`);
  return state === 'canceled' ? 0 : 1;
}

interface EnqueueOptions extends FollowOptions, OwnOptions {
  readonly agent: string;
  readonly turn?: string;
  /** Context of the turn: JSON, or `@file`. */
  readonly context?: string;
  /** JSON. */
  readonly metadata?: string;
  readonly onBusy?: string;
  readonly busyTurn?: string;
  readonly delay?: string;
  readonly deadline?: string;
  readonly maxTurnTokens?: number;
  readonly maxQueuedTurns?: number;
  readonly priority?: number;
  readonly owner?: string;
  readonly title?: string;
  /** Pictures, PDFs and text files. */
  readonly file?: readonly string[];
}

/** @returns the exit code: 1 if `--wait` ended without an answer */
export async function enqueue(
  context: ClientContext,
  id: string,
  text: string,
  options: EnqueueOptions,
): Promise<number> {
  const { client, output } = context;
  const { agent, tenant, turn, wait, stream = false, json, delay, deadline } = options;
  const { priority, maxTurnTokens, maxQueuedTurns, owner, title } = options;
  const turnContext = await readContextOption(options.context);
  const accepted = await client.enqueueTurn({
    conversation: id,
    tenant,
    agent,
    input: text,
    parts: await readAttachedFiles(options.file),
    turn,
    context: turnContext,
    ...(await readOwnOptions(options)),
    metadata: readMetadataOption(options.metadata),
    onBusy: options.onBusy as OnBusy | undefined,
    busyTurn: options.busyTurn,
    delayMs: delay === undefined ? undefined : readPeriod(delay, '--delay'),
    deadlineMs: deadline === undefined ? undefined : readPeriod(deadline, '--deadline'),
    maxTurnTokens,
    maxQueuedTurns,
    priority,
    owner,
    title,
  });
  if (wait > 0 || stream) return await showTurn(context, id, accepted.turn, options);
  writeResult(output, json, accepted, `${accepted.turn}  ${accepted.state}`);
  return 0;
}

interface FailedOptions extends ListOptions {
  readonly code?: string;
  /** An age (`90s`, `30m`, `2h`, `7d`) or a date. */
  readonly since?: string;
}

export async function showFailed({ client, output }: ClientContext, options: FailedOptions): Promise<number> {
  const { tenant, code, since, limit, json } = options;
  const turns = await client.failedTurns({
    limit,
    tenant,
    code,
    since: since === undefined ? undefined : readSince(since, Date.now()),
  });
  for (const turn of turns) {
    const { conversation, failedAt, failure, redrivenAs } = turn;
    const again = redrivenAs === undefined ? '' : `  (re-driven as ${redrivenAs})`;
    const name = turn.tenant === DEFAULT_TENANT ? conversation : `${turn.tenant}/${conversation}`;
    const when = new Date(failedAt).toISOString();
    writeResult(output, json, turn, `${when}  ${name}  ${turn.turn}  ${failure.code}: ${failure.message}${again}`);
  }
  if (turns.length === 0) output.note('no failed turns');
  if (turns.length === limit) output.note(`only the newest ${limit} turns are listed (for more, use --limit)`);
  return 0;
}

interface RedriveOptions extends ConversationOptions {
  readonly operation?: string;
  /** Context of the new turn: JSON, or `@file`. */
  readonly context?: string;
  readonly priority?: number;
  readonly wait: number;
}

/** Enqueues a failed turn again. Without a turn, requests a compaction, because a failed compaction leaves no turn. */
export async function redrive(
  context: ClientContext,
  id: string,
  turn: string | undefined,
  { tenant, operation, context: typed, priority, wait, json }: RedriveOptions,
): Promise<number> {
  const { client, output } = context;
  if (turn === undefined) {
    const given = Object.entries({ operation, context: typed, priority, wait: wait > 0 || undefined });
    const [first] = given.find(([, value]) => value !== undefined) ?? [];
    if (first !== undefined) {
      const field = `--${first}`;
      throw fieldError(
        'invalid_input',
        field,
        `this option needs a turn. Name the failed turn, or omit ${field} to request a compaction.`,
      );
    }
    const pass = await client.compact({ tenant, conversation: id });
    writeResult(output, json, { tenant, conversation: id, pass }, `${pass}  pass requested`);
    return 0;
  }
  const input = { operation, context: await readContextOption(typed), priority };
  const accepted = await client.redrive({ tenant, conversation: id }, turn, input);
  if (wait > 0) return await showTurn(context, id, accepted.turn, { tenant, wait, ...(json && { json }) });
  const again = accepted.isNew ? '' : '  (re-driven before)';
  writeResult(output, json, accepted, `${accepted.turn}  ${accepted.state}${again}`);
  return 0;
}

/** @returns ms since epoch. @throws invalid_input for a text that is no age or date */
function readSince(text: string, now: number): number {
  const ageMs = parsePeriod(text);
  const since = ageMs === undefined ? Date.parse(text) : now - ageMs;
  if (Number.isFinite(since)) return Math.max(0, since);
  throw fieldError('invalid_input', '--since', `expected an age (90s, 30m, 2h, 7d) or a date, got '${text}'`);
}
