import { z } from 'zod';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import { type ConversationRef, DEFAULT_TENANT, idSchema, nameConversation, seqOfCallId } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import type { ConversationLabel, RecentPosition } from '../../store/recent-list.ts';
import type { Methods } from '../contract/client.ts';
import { conversationChangeSchema, conversationsSchema, usageInputSchema } from '../contract/conversations.ts';
import { readConversationName } from '../contract/names.ts';
import { checkDurability, noConversation } from './client-errors.ts';
import { readConversationState } from './contexts.ts';
import { type InspectionPorts, prefixOf } from './inspected-version.ts';
import type { ClientPorts } from './ports.ts';
import { readCursor } from './turns.ts';

export const conversationMethods = {
  /** A call examines at most about 2,000 conversations, so a page may be short. @throws invalid_input */
  conversations: async (ports, input = {}) => {
    const {
      after,
      owner,
      order = owner === undefined ? 'stable' : 'newest',
      metadata,
      ...filters
    } = parseInput(conversationsSchema, input);
    const query = { ...filters, label: metadata === undefined ? undefined : readLabel(metadata) };
    if (order === 'newest') {
      const { tenant = DEFAULT_TENANT } = query;
      const newest = { ...query, tenant, owner, after: after === undefined ? undefined : readRecentCursor(after) };
      const { items, next } = await ports.listings.listRecent(newest);
      return { conversations: items, ...(next && { next: `${next.at}/${next.id}` }) };
    }
    if (owner !== undefined) throw fieldError('invalid_input', 'order', 'the list of an owner has the order newest');
    const position = after === undefined ? undefined : readConversationCursor(after);
    const { items, next } = await ports.listings.listConversations({ ...query, after: position });
    return { conversations: items, ...(next && { next: `${next.tenant}/${next.id}` }) };
  },
  agents: (ports) => ports.listings.listAgents(),
  usage: async (ports, input = {}) => {
    return await ports.listings.readTenantUsage(parseInput(usageInputSchema, input).tenant);
  },
  describe: async (ports, name) => {
    const conversation = readConversationName(name);
    const [{ openCalls, incarnation: _, ...state }, about] = await Promise.all([
      readConversationState(ports, conversation),
      ports.listings.readAbout(conversation),
    ]);
    // A concurrent erase may remove the conversation between the two reads.
    if (about === undefined) throw noConversation(conversation);
    const seqs = [...new Set(openCalls.map(({ id }) => seqOfCallId(id)))];
    const ranges = seqs.map((seq) => ({ from: seq, to: seq }));
    const entries = seqs.length === 0 ? [] : await ports.contexts.readLog(conversation, ranges);
    const calls = new Map(entries.flatMap(({ message }) => (message.toolCalls ?? []).map((call) => [call.id, call])));
    // A concurrent erase may remove the message of an open call after the first read. Such a call is left out.
    const turn = entries.at(-1)?.turn;
    const { waiting } = (turn === undefined ? undefined : await ports.turns.readTurn(conversation, turn)) ?? {};
    const waits = new Map(waiting?.calls.map((call) => [call.id, call]));
    const known = openCalls.flatMap((open) => {
      const call = calls.get(open.id);
      if (call === undefined) return [];
      return [{ ...open, name: call.name, arguments: call.arguments, ...waits.get(open.id) }];
    });
    return { ...about, ...state, openCalls: known };
  },
  /** @throws invalid_input, not_found, accepted_unsure */
  updateConversation: async (ports, name, change) => {
    const conversation = readConversationName(name);
    const updated = await ports.contexts.updateConversation(conversation, parseInput(conversationChangeSchema, change));
    if (updated.status === 'not_found') throw noConversation(conversation);
    checkDurability(updated, { field: 'conversation', id: conversation.id });
    return { ...nameConversation(conversation), ...updated.about };
  },
  /** @throws invalid_input, accepted_unsure */
  erase: async (ports, name) => {
    const conversation = readConversationName(name);
    try {
      return await eraseData(ports, conversation);
    } finally {
      const { recentContexts, recentFates, recentCategories, recentReports, recentFrames, recentWork } = ports;
      const caches = [recentContexts, recentFates, recentCategories, recentReports, recentFrames, recentWork];
      for (const cache of caches) cache.forget(prefixOf(conversation));
    }
  },
} satisfies Methods<InspectionPorts>;

/** A value may contain `=`. The schema has checked the form. */
function readLabel(metadata: string): ConversationLabel {
  const at = metadata.indexOf('=');
  return { name: metadata.slice(0, at), value: metadata.slice(at + 1) };
}

const recentCursor = z.tuple([z.coerce.number().int().min(0), idSchema]);

function readRecentCursor(after: string): RecentPosition {
  const [at, id] = readCursor(recentCursor, after);
  return { at, id };
}

const conversationCursor = z.tuple([idSchema, idSchema]);

function readConversationCursor(after: string): ConversationRef {
  const [tenant, id] = readCursor(conversationCursor, after);
  return { tenant, id };
}

async function eraseData(
  { contexts, queues }: ClientPorts,
  conversation: ConversationRef,
): Promise<{ readonly removedKeys: number }> {
  // Waiting jobs are erased first: a worker that takes one later would create the conversation again. A full Redis
  // refuses this until the erase of the data has freed memory.
  const rest = await queues.eraseJobs([conversation], 'all').then(
    () => 'ended' as const,
    (error: unknown) => {
      if (!isTurnfoldError(error, 'redis_full')) throw error;
      return 'all' as const;
    },
  );
  const erased = await contexts.erase(conversation);
  await queues.eraseJobs([conversation], rest);
  checkDurability(erased, { field: 'conversation', id: conversation.id });
  return { removedKeys: erased.removedKeys };
}
