import { z } from 'zod';
import { type ConversationEvent, EVENT_LIMITS } from '../domain/conversation-event.ts';
import { parseInput } from '../domain/parse.ts';
import { type EventPage, FIRST_POSITION } from '../domain/ports/event-store.ts';
import { type ConversationName, readConversationName } from './input.ts';
import { followUntilLeft } from './leaving.ts';
import { noConversation } from './not-found.ts';
import type { ClientPorts } from './ports.ts';
import { LOOK_MS, waitSchema } from './turns.ts';

/**
 * An event; or that some may be missing here, because they are no longer kept or the conversation was made anew: what the
 * caller has derived from events it has to read again.
 */
export type EventOrLoss = ConversationEvent | { readonly type: 'lost' };

export interface EventOptions {
  /** id of the last event that was handled; `'0'`: all that is kept; absent: what comes from the first look on */
  readonly after?: string;
  /** ms; absent: until the signal aborts or the loop is left; 0: what is there */
  readonly waitMs?: number;
  /** ends the events with its reason */
  readonly signal?: AbortSignal;
}

/** One command's: an event is 100 to 300 bytes, the reason of a rejection up to 2,000 characters. */
const PAGE = 100;

const LARGEST = 2n ** 64n - 1n;
/** As Redis compares them: both numbers, without zeros before them. */
const eventIdSchema = z
  .string()
  .regex(/^\d{1,20}(-\d{1,20})?$/, "expected the id of an event, or '0'")
  .transform((id) => id.split('-').map(BigInt))
  .refine((numbers) => numbers.every((number) => number <= LARGEST), 'expected the id of an event')
  .transform(([ms = 0n, count = 0n]) => `${ms}-${count}`);

const eventsSchema = z.object({
  after: eventIdSchema.optional(),
  waitMs: waitSchema.optional(),
  signal: z.instanceof(AbortSignal, { error: 'expected an AbortSignal' }).optional(),
});

/**
 * Follows a conversation's durable events, oldest first, each by its id once in one call. Kept are about the last
 * 500 (EVENT_LIMITS), for 24 h after the newest; past that `lost` is told, and those that are kept may come again. A caller that keeps the id of each event once it has
 * handled it, and goes on from there after a crash, gets every event at least once. Looks at each notice and once a second; the
 * pages are read as the loop asks for them, so that a slow one costs no memory.
 * @throws invalid_input; not_found where there is neither such a conversation nor an event of one at the first look;
 * redis_unavailable; the signal's reason
 */
export function followEvents(
  ports: ClientPorts,
  name: ConversationName,
  options: EventOptions = {},
): AsyncGenerator<EventOrLoss, void, void> {
  return followUntilLeft((left) => readOn(ports, name, options, left));
}

async function* readOn(
  ports: ClientPorts,
  name: ConversationName,
  options: EventOptions,
  left: AbortSignal,
): AsyncGenerator<EventOrLoss, void, void> {
  const conversation = readConversationName(name);
  const { after, waitMs = Number.POSITIVE_INFINITY, signal } = parseInput(eventsSchema, options);
  const reading = new Reading(after);
  const until = ports.now() + waitMs;
  const ended = signal === undefined ? left : AbortSignal.any([signal, left]);
  for (let isFirst = true; ; isFirst = false) {
    signal?.throwIfAborted();
    const askedAt = ports.now();
    const page = await ports.events.readEvents({ conversation, after: reading.position, limit: PAGE });
    if (isFirst && !page.exists) throw noConversation(conversation);
    if (reading.loses(page, askedAt)) yield { type: 'lost' };
    for (const event of page.events) {
      signal?.throwIfAborted();
      yield event;
    }
    if (page.events.length === PAGE) continue;
    const leftMs = until - ports.now();
    if (leftMs <= 0) return;
    await ports.notices.wait(conversation, Math.min(leftMs, LOOK_MS), ended);
    if (left.aborted) return;
  }
}

/** How far somebody has read, and until when nothing can have been missed. */
class Reading {
  #position: string | undefined;
  /** all that is kept was asked for: what is not is not missed */
  #takesWhatIsKept: boolean;
  #readAllAt = Number.NEGATIVE_INFINITY;
  /** at the last look, and whether that was told: what is there now has been made anew */
  #gone: 'no' | 'told' | 'untold' = 'no';

  constructor(after: string | undefined) {
    this.#position = after;
    this.#takesWhatIsKept = after === FIRST_POSITION;
  }

  get position(): string | undefined {
    return this.#position;
  }

  /** Goes on behind a page. @returns whether events may be missing before it */
  loses({ start, events, position, exists }: EventPage, askedAt: number): boolean {
    const hasLooked = askedAt - this.#readAllAt < EVENT_LIMITS.keptMs;
    const isLoss = start === 'missing' ? !this.#takesWhatIsKept : start === 'expired' && !hasLooked;
    const isAnew = exists && this.#gone === 'untold';
    this.#gone = exists ? 'no' : isLoss || this.#gone === 'told' ? 'told' : 'untold';
    this.#position = position;
    this.#takesWhatIsKept = false;
    if (events.length < PAGE) this.#readAllAt = askedAt;
    return isLoss || isAnew;
  }
}
