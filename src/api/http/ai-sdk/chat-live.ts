import { setTimeout as delay } from 'node:timers/promises';
import { FIRST_POSITION } from '../../../domain/conversation-event.ts';
import { isTurnfoldError } from '../../../domain/errors.ts';
import type { EventOrLoss, OpenTurns } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readOpenTurns } from '../front-end/reads.ts';
import { describeOpenTurns } from './open-chat-turns.ts';

/** Time between two reads of the open turns. Each event also causes a read. */
const READ_MS = 1_000;

interface LiveChat {
  readonly backend: Backend;
  readonly id: string;
  /** Position of the page. Absent: events from now on. */
  readonly after: string | undefined;
  readonly left: AbortSignal;
}

/** Finds the position behind all events so far, and the open turns at that moment or later. */
export async function readPlace(
  backend: Backend,
  id: string,
): Promise<{ readonly after: string; readonly open: OpenTurns['turns'] }> {
  let after = FIRST_POSITION;
  const open = await readOpenTurns(backend, id, { limit: 1_000, inputs: true });
  if (open === undefined) return { after, open: [] };
  for await (const event of backend.client.events(backend.nameOf(id), { after: '0', waitMs: 0 })) {
    if (event.type !== 'lost') after = event.id;
  }
  return { after, open: open.turns };
}

/**
 * Writes the news of a chat: its open turns whenever they have changed, and its durable events. The open turns are a whole
 * state, so a page that missed some of them misses nothing.
 */
export async function* followChat({ backend, id, after, left }: LiveChat): AsyncGenerator<string> {
  let position = after ?? (await readPlace(backend, id)).after;
  let shown = '';
  while (!left.aborted) {
    const { turns } = (await readOpenTurns(backend, id, { limit: 1_000, inputs: true })) ?? { turns: [] };
    const news = JSON.stringify({ type: 'turns', turns: describeOpenTurns({ turns }) });
    if (news !== shown) yield writeNews(position, news);
    shown = news;
    for await (const event of readEvents(backend, id, { after: position, left })) {
      position = event.type === 'lost' ? FIRST_POSITION : event.id;
      yield writeNews(position, JSON.stringify(event.type === 'lost' ? event : { type: 'event', event }));
      // An event may be a change of the open turns. The next events follow behind this one.
      if (event.type === 'turn_settled' || event.type === 'turn_waiting') break;
    }
  }
}

/** A chat whose first message is still to come has no events. */
async function* readEvents(
  { client, nameOf }: Backend,
  id: string,
  { after, left }: { readonly after: string; readonly left: AbortSignal },
): AsyncGenerator<EventOrLoss> {
  try {
    yield* client.events(nameOf(id), { after, waitMs: READ_MS, signal: left });
  } catch (error) {
    if (left.aborted || !isTurnfoldError(error, 'not_found')) throw error;
    await delay(READ_MS, undefined, { signal: left });
  }
}

function writeNews(position: string, data: string): string {
  return `id: ${position}\ndata: ${data}\n\n`;
}
