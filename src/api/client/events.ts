import { z } from 'zod';
import { EVENT_LIMITS, FIRST_POSITION } from '../../domain/conversation-event.ts';
import { parseInput } from '../../domain/parse.ts';
import type { EventPage } from '../../store/events.ts';
import type { Methods } from '../contract/client.ts';
import { type ConversationName, followSchema, readConversationName } from '../contract/names.ts';
import type { EventOptions, EventOrLoss } from '../contract/streams.ts';
import { cancelable } from './cancelable.ts';
import { noConversation } from './client-errors.ts';
import type { ClientPorts } from './ports.ts';
import { POLL_MS } from './turns.ts';

export const eventMethods = {
  /**
   * Each event comes once per call, but after `lost` events may repeat. Redis is read at each notice and once a second.
   * @throws invalid_input, redis_unavailable, the signal's reason, not_found if neither the conversation nor an event
   * exists at the first read
   */
  events: (ports, name, options = {}) => {
    return cancelable((left) => readPages(ports, name, options, left));
  },
} satisfies Methods<ClientPorts>;

/** Events in one read, 10 to 30 kB. */
const PAGE = 100;

const LARGEST = 2n ** 64n - 1n;
/** Redis compares event ids as two numbers, so this schema drops leading zeros. */
export const eventIdSchema = z
  .string()
  .regex(/^\d{1,20}(-\d{1,20})?$/, "expected the id of an event, or '0'")
  .transform((id) => id.split('-').map(BigInt))
  .refine(
    (numbers) => numbers.every((number) => number <= LARGEST),
    'expected the id of an event, such as 1700000000000-0',
  )
  .transform(([ms = 0n, count = 0n]) => `${ms}-${count}`);

const eventsSchema = followSchema.extend({ after: eventIdSchema.optional() });

async function* readPages(
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
    const readAt = ports.now();
    const page = await ports.events.readEvents({ conversation, after: reading.position, limit: PAGE });
    if (isFirst && !page.exists) throw noConversation(conversation);
    if (reading.loses(page, readAt)) yield { type: 'lost' };
    for (const event of page.events) {
      signal?.throwIfAborted();
      yield event;
    }
    if (page.events.length === PAGE) continue;
    const leftMs = until - ports.now();
    if (leftMs <= 0) return;
    await ports.notifications.wait(conversation, Math.min(leftMs, POLL_MS), ended);
    if (left.aborted) return;
  }
}

class Reading {
  #position: string | undefined;
  /** True at first for `after: '0'`, so that events that expired before the call do not count as lost. */
  #startsAtOldest: boolean;
  #readAllAt = Number.NEGATIVE_INFINITY;
  /** `lost`: the conversation is missing, and the caller already got a `lost` entry. */
  #state: 'present' | 'missing' | 'lost' = 'present';

  constructor(after: string | undefined) {
    this.#position = after;
    this.#startsAtOldest = after === FIRST_POSITION;
  }

  get position(): string | undefined {
    return this.#position;
  }

  /** @returns true if events may be missing before this page */
  loses({ start, events, position, exists }: EventPage, readAt: number): boolean {
    const wasUpToDate = readAt - this.#readAllAt < EVENT_LIMITS.keptMs;
    const isLoss = start === 'missing' ? !this.#startsAtOldest : start === 'expired' && !wasUpToDate;
    const isRecreated = exists && this.#state === 'missing';
    this.#state = exists ? 'present' : isLoss || this.#state === 'lost' ? 'lost' : 'missing';
    this.#position = position;
    this.#startsAtOldest = false;
    if (events.length < PAGE) this.#readAllAt = readAt;
    return isLoss || isRecreated;
  }
}
