import type { ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { TurnPart, TurnView } from '../../api/client/index.ts';
import { fieldError } from '../../domain/errors.ts';
import { readJsonText } from '../../domain/json-text.ts';
import { isAnswerKind } from '../../domain/turn.ts';
import { describeProgress } from '../turn-text.ts';
import type { Reach } from './reading-tools.ts';

export interface NamedTurn {
  readonly conversation: string;
  readonly turn: string;
}

/** A task is named by its turn, so that any server of the same turnfold answers for it, also after a restart. */
export function writeTaskId({ conversation, turn }: NamedTurn): string {
  return `${conversation}/${turn}`;
}

export function readTaskId(id: string): NamedTurn | undefined {
  const [conversation = '', turn = '', ...rest] = id.split('/');
  return conversation === '' || turn === '' || rest.length > 0 ? undefined : { conversation, turn };
}

const followedSchema = z.strictObject({
  conversation: z.string().min(1),
  turn: z.string().min(1),
  /** Last part of the turn that the client knows by its progress. */
  after: z.string().optional(),
  /** Number of reports, because MCP requires that progress grows. */
  reports: z.number().int().min(0),
});

/** A turn, and how much of its progress the client has heard. */
export type FollowedTurn = z.output<typeof followedSchema>;

/** Writes the state that a client returns with its answers. */
export function writeRequestState(followed: FollowedTurn): string {
  return JSON.stringify(followed);
}

/** Without this check, a damaged state would begin another turn. @throws invalid_input */
export function readRequestState(state: string | undefined): FollowedTurn | undefined {
  if (state === undefined) return undefined;
  const { success, data } = followedSchema.safeParse(readJsonText(state));
  if (success) return data;
  throw fieldError('invalid_input', 'requestState', 'expected the state that this server sent with its question');
}

interface Followed {
  readonly view: TurnView;
  readonly followed: FollowedTurn;
}

/**
 * Follows a turn until it is settled, waits for an answer, or the time is over. Reports its progress to a client that
 * asked for it. A request that the client cancels ends the wait, and the turn goes on.
 */
export async function followTurn(
  { client, nameOf }: Pick<Reach, 'client' | 'nameOf'>,
  { conversation, turn, ...known }: FollowedTurn,
  waitMs: number,
  { mcpReq: request }: ServerContext,
): Promise<Followed> {
  const name = nameOf(conversation);
  const progressToken = request['_meta']?.progressToken;
  let { after, reports } = known;
  const { signal } = request;
  for await (const part of client.stream(name, turn, { waitMs, signal, ...(after !== undefined && { after }) })) {
    after = part.id;
    if (part.type === 'end') return { view: part.view, followed: { conversation, turn, after, reports } };
    if (part.type === 'wait' && isAnswerKind(part.waiting.for)) break;
    const message = describePart(part);
    if (progressToken === undefined || message === undefined) continue;
    reports += 1;
    const params = { progressToken, progress: reports, message };
    await request.notify({ method: 'notifications/progress', params });
  }
  const followed = { conversation, turn, reports, ...(after !== undefined && { after }) };
  return { view: await client.result(name, turn), followed };
}

function describePart(part: TurnPart): string | undefined {
  switch (part.type) {
    case 'tool-call':
      return `calls ${part.name}`;
    case 'progress':
      return describeProgress(part);
    case 'compaction':
      return `compacted ${part.tokensBefore} to ${part.tokensAfter} tokens`;
    case 'wait':
      return `waits for ${part.waiting.for}`;
    case 'behind':
      return `is queued behind ${part.turn}`;
    default:
      return undefined;
  }
}
