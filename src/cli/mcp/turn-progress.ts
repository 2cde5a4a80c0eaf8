import type { ServerContext } from '@modelcontextprotocol/server';
import type { TurnPart, TurnView } from '../../api/client/index.ts';
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

/**
 * Follows a turn until it is settled, waits for an answer, or the time is over. Reports its progress to a client that
 * asked for it. A request that the client cancels ends the wait, and the turn goes on.
 */
export async function followTurn(
  { client, nameOf }: Pick<Reach, 'client' | 'nameOf'>,
  { conversation, turn }: NamedTurn,
  waitMs: number,
  { mcpReq: request }: ServerContext,
): Promise<TurnView> {
  const name = nameOf(conversation);
  const progressToken = request['_meta']?.progressToken;
  let reports = 0;
  for await (const part of client.stream(name, turn, { waitMs, signal: request.signal })) {
    if (part.type === 'end') return part.view;
    if (part.type === 'wait' && isAnswerKind(part.waiting.for)) break;
    const message = describePart(part);
    if (progressToken === undefined || message === undefined) continue;
    reports += 1;
    const params = { progressToken, progress: reports, message };
    await request.notify({ method: 'notifications/progress', params });
  }
  return await client.result(name, turn);
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
