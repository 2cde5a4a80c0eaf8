import { type ConversationRef, type NamedConversation, nameConversation } from '../domain/ids.ts';
import type {
  ConversationQuery,
  ListedConversation,
  ListedState,
  ListingStore,
  ListPage,
  WaitingPosition,
  WaitingQuery,
  WaitingTurn,
} from '../domain/ports/listing-store.ts';
import { isAnswerKind } from '../domain/turn.ts';
import { NO_USAGE } from '../domain/usage.ts';
import { viewWait } from '../domain/wait-view.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { headTurn } from './mailbox.ts';
import { viewWaiting } from './waiting.ts';

/**
 * Lists conversations and waiting turns in memory, as one shard. The contract tests in test/store run against this store
 * and against Redis.
 */
export function openMemoryListingStore(db: MemoryDatabase): ListingStore {
  return {
    listConversations: async (query) => listConversations(db, query),
    listWaiting: async (query) => listWaiting(db, query),
    readTenantUsage: async (tenant) => db.tenantUsage.get(tenant) ?? NO_USAGE,
  };
}

function findConversations(db: MemoryDatabase, tenant: string | undefined): MemoryConversation[] {
  return [...db.conversations.values()].filter(({ ref }) => !db.isGone(ref) && (tenant ?? ref.tenant) === ref.tenant);
}

function listConversations(
  db: MemoryDatabase,
  { tenant, agent, state, idContains = '', after, limit }: ConversationQuery,
): ListPage<ListedConversation, ConversationRef> {
  const listed = findConversations(db, tenant).map(listConversation);
  const wanted = listed.filter(
    (one) =>
      one.conversation.includes(idContains) && (agent ?? one.agent) === one.agent && (state ?? one.state) === one.state,
  );
  return page(wanted, {
    limit,
    after: after && encodeListedName(after),
    nameOf: (one) => encodeListedName(refOf(one)),
    positionOf: refOf,
  });
}

function listConversation(conversation: MemoryConversation): ListedConversation {
  const { ref, agent, fork, log, turns, mailbox, lastTurn } = conversation;
  const head = headTurn(conversation);
  const idle: ListedState = lastTurn?.state === 'failed' ? 'failed' : 'idle';
  const { state, waiting } =
    head === undefined ? { state: idle } : viewWait(head.state, head.waiting && viewWaiting(head.waiting, head));
  return {
    ...nameConversation(ref),
    agent,
    state: state as ListedState,
    head: log.length,
    turns,
    mailbox: mailbox.length,
    ...(waiting && { waitsFor: waiting.for }),
    ...(lastTurn && { lastTurn }),
    ...(fork?.isOpen && { isForking: true }),
  };
}

export function waitingTurns(db: MemoryDatabase, tenant?: string): WaitingTurn[] {
  return findConversations(db, tenant).flatMap((conversation): WaitingTurn[] => {
    const head = headTurn(conversation);
    const waitsFor = head?.waiting?.for;
    if (head?.state !== 'waiting' || head.waiting === undefined || head.waiting.isFulfilled) return [];
    if (waitsFor === undefined || !isAnswerKind(waitsFor)) return [];
    const { turn, agent, waiting } = head;
    return [
      { ...nameConversation(conversation.ref), turn, agent, waiting: { ...viewWaiting(waiting, head), for: waitsFor } },
    ];
  });
}

function waitingPosition(one: WaitingTurn): WaitingPosition {
  return { conversation: refOf(one), turn: one.turn, for: one.waiting.for };
}

function listWaiting(
  db: MemoryDatabase,
  { tenant, for: kind, after, limit }: WaitingQuery,
): ListPage<WaitingTurn, WaitingPosition> {
  const wanted = waitingTurns(db, tenant).filter(({ waiting }) => (kind ?? waiting.for) === waiting.for);
  return page(wanted, {
    limit,
    after: after && nameOfWaiting(after),
    nameOf: (one) => nameOfWaiting(waitingPosition(one)),
    positionOf: waitingPosition,
  });
}

function refOf({ tenant, conversation }: NamedConversation): ConversationRef {
  return { tenant, id: conversation };
}

interface Paging<Item, Position> {
  readonly limit: number;
  readonly after: string | undefined;
  readonly nameOf: (item: Item) => string;
  readonly positionOf: (item: Item) => Position;
}

function page<Item, Position>(
  items: readonly Item[],
  { limit, after, nameOf: name, positionOf }: Paging<Item, Position>,
): ListPage<Item, Position> {
  const rest = items
    .filter((item) => after === undefined || name(item) > after)
    .toSorted((a, b) => (name(a) < name(b) ? -1 : 1));
  const taken = rest.slice(0, limit);
  const last = taken.at(-1);
  return { items: taken, ...(last !== undefined && rest.length > limit && { next: positionOf(last) }) };
}

function encodeListedName({ tenant, id }: ConversationRef): string {
  return `${tenant}|${id}`;
}

function nameOfWaiting({ conversation: { tenant, id }, for: kind, turn }: WaitingPosition): string {
  return `${tenant}|${kind}|${id}|${turn}`;
}
