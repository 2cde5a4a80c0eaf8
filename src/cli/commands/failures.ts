import { fieldError } from '../../domain/errors.ts';
import { DEFAULT_TENANT } from '../../domain/ids.ts';
import { parsePeriod, readTurnContext } from '../option-values.ts';
import { writeResult } from '../output.ts';
import type { ClientContext, ConversationOptions } from '../run-command.ts';
import { showTurn } from './follow-turn.ts';

export interface FailedOptions {
  /** Tenant to list. Absent: all tenants. */
  readonly tenant?: string;
  readonly code?: string;
  /** Age (`90s`, `30m`, `2h`, `7d`) or date. Older failures are not listed. */
  readonly since?: string;
  readonly limit: number;
  readonly json?: boolean;
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

export interface RedriveOptions extends ConversationOptions {
  readonly operation?: string;
  /** Context object of the new turn, as JSON or as `@file`. */
  readonly context?: string;
  readonly priority?: number;
  readonly wait: number;
}

/**
 * Enqueues the input of a failed turn as a new turn. If no turn is named, requests a compaction, because a failed
 * compaction leaves no turn.
 * @returns the exit code: 1 if `--wait` ended without an answer
 */
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
  const input = { operation, context: await readTurnContext(typed), priority };
  const accepted = await client.redrive({ tenant, conversation: id }, turn, input);
  if (wait > 0) return await showTurn(context, id, accepted.turn, { tenant, wait, ...(json && { json }) });
  const again = accepted.isNew ? '' : '  (re-driven before)';
  writeResult(output, json, accepted, `${accepted.turn}  ${accepted.state}${again}`);
  return 0;
}

/**
 * Parses an age or a date.
 * @returns ms since epoch
 * @throws invalid_input for any other text
 */
function readSince(text: string, now: number): number {
  const ageMs = parsePeriod(text);
  const since = ageMs === undefined ? Date.parse(text) : now - ageMs;
  if (Number.isFinite(since)) return Math.max(0, since);
  throw fieldError('invalid_input', '--since', `expected an age (90s, 30m, 2h, 7d) or a date, got '${text}'`);
}
