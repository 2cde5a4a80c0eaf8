import { TurnfoldError } from '../../domain/errors.ts';
import { DEFAULT_TENANT } from '../../domain/ids.ts';
import type { ConversationOptions } from '../command-options.ts';
import { readTurnContext } from '../option-values.ts';
import { writeJson } from '../output.ts';
import type { CommandContext } from '../with-client.ts';
import { tellTurn } from './follow-turn.ts';

export interface FailedOptions {
  /** without it those of all tenants */
  readonly tenant?: string;
  readonly code?: string;
  /** `90s`, `30m`, `2h` or `7d` ago, or a date */
  readonly since?: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** Lists failed turns, newest first. @returns the exit code */
export async function showFailed({ client, output }: CommandContext, options: FailedOptions): Promise<number> {
  const { tenant, code, since, limit, json } = options;
  const turns = await client.failedTurns({
    limit,
    ...(since !== undefined && { since: readSince(since, Date.now()) }),
    ...(tenant !== undefined && { tenant }),
    ...(code !== undefined && { code }),
  });
  for (const turn of turns) {
    const { conversation, failedAt, failure, redrivenAs } = turn;
    const again = redrivenAs === undefined ? '' : `  (re-driven as ${redrivenAs})`;
    const name = turn.tenant === DEFAULT_TENANT ? conversation : `${turn.tenant}/${conversation}`;
    const when = new Date(failedAt).toISOString();
    if (json) writeJson(output, turn);
    else output.line(`${when}  ${name}  ${turn.turn}  ${failure.code}: ${failure.message}${again}`);
  }
  if (turns.length === 0) output.note('no failed turn');
  if (turns.length === limit) output.note(`the newest ${limit}; --limit shows more`);
  return 0;
}

export interface RedriveOptions extends ConversationOptions {
  readonly operation?: string;
  /** as it was typed */
  readonly context?: string;
  /** ms to wait for the answer; 0 returns once the turn is accepted */
  readonly waitMs: number;
}

/**
 * Brings the input of a failed turn again, as a new turn. Without a turn: asks for a pass, as a failed one left none.
 * @returns the exit code: 1 where it waited and there is no answer
 */
export async function redrive(
  context: CommandContext,
  id: string,
  turn: string | undefined,
  { tenant, operation, context: typed, waitMs, json }: RedriveOptions,
): Promise<number> {
  const { client, output } = context;
  if (turn === undefined) {
    const field = operation !== undefined ? '--operation' : typed !== undefined ? '--context' : '--wait';
    if (field !== '--wait' || waitMs > 0) {
      throw new TurnfoldError('invalid_input', `${field}: means nothing without a turn`, { field });
    }
    const pass = await client.compact({ tenant, conversation: id });
    if (json) writeJson(output, { tenant, conversation: id, pass });
    else output.line(`${pass}  pass requested`);
    return 0;
  }
  const given = { ...(operation !== undefined && { operation }), ...(await readTurnContext(typed)) };
  const accepted = await client.redrive({ tenant, conversation: id }, turn, given);
  if (waitMs > 0) return await tellTurn(context, id, accepted.turn, { tenant, waitMs, ...(json && { json }) });
  if (json) writeJson(output, accepted);
  else output.line(`${accepted.turn}  ${accepted.state}${accepted.isNew ? '' : '  (was re-driven before)'}`);
  return 0;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** @returns ms since epoch. @throws invalid_input */
function readSince(text: string, now: number): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const since = count === undefined ? Date.parse(text) : now - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isFinite(since)) return Math.max(0, since);
  const field = '--since';
  throw new TurnfoldError('invalid_input', `${field}: '${text}' is neither 90s, 30m, 2h, 7d nor a date`, { field });
}
