import { z } from 'zod';
import { buildInSlices } from '../../compaction/context.ts';
import { diffInSlices } from '../../compaction/diff.ts';
import { boundedList, boundedRecord, MAX_GROWN_ENTRIES } from '../../domain/bounded-schemas.ts';
import { type ConversationState, findLeft } from '../../domain/conversation.ts';
import type { TurnfoldError } from '../../domain/errors.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import { FRAMING_TOKENS } from '../../domain/limits.ts';
import type { ToolDescription } from '../../domain/model.ts';
import { parseInput } from '../../domain/parse.ts';
import { START_VERSION, type Version } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { Methods } from '../contract/client.ts';
import type { AgentSnapshot, ContextView } from '../contract/contexts.ts';
import { logPartSchema } from '../contract/messages.ts';
import {
  type ContextPoint,
  type ConversationName,
  contextPointSchema,
  readConversationName,
  versionNumberSchema,
} from '../contract/names.ts';
import { noConversation, noVersion, versionGone } from './client-errors.ts';
import type { ClientPorts } from './ports.ts';

export const contextMethods = {
  context: readContext,
  show: async (ports, name, number) => {
    const { version } = parseInput(contextPointSchema.required({ version: true }), { version: number });
    const kept = await ports.contexts.readVersion(readConversationName(name), version);
    return await readContext(ports, name, { version, head: kept?.base });
  },
  log: async (ports, name, part = {}) => {
    const conversation = readConversationName(name);
    const { after = 0, limit = Number.POSITIVE_INFINITY, maxBytes } = parseInput(logPartSchema, part);
    const { head, left = [] } = await readConversationState(ports, conversation);
    const to = Math.min(head, after + limit);
    const entries = to <= after ? [] : await ports.contexts.readLog(conversation, [{ from: after + 1, to }], maxBytes);
    if (left.length === 0) return entries;
    return entries.map((entry) => ({ ...entry, ...findLeft(left, entry.seq) }));
  },
  versions: async (ports, name) => {
    const conversation = readConversationName(name);
    await readConversationState(ports, conversation);
    return await ports.contexts.listVersions(conversation);
  },
  /** @throws invalid_input, not_found, version_gone */
  diff: async (ports, name, before, after) => {
    const conversation = readConversationName(name);
    parseInput(versionNumberSchema, before, 'before');
    parseInput(versionNumberSchema, after, 'after');
    const { size } = await readConversationState(ports, conversation);
    const earlier = await readKeptVersion(ports, { conversation, size }, before, 'before');
    const later = await readKeptVersion(ports, { conversation, size }, after, 'after');
    return await eventLoopShare.run(diffInSlices(earlier, later));
  },
} satisfies Methods<ClientPorts>;

export async function readConversationState(
  ports: ClientPorts,
  conversation: ConversationRef,
): Promise<ConversationState> {
  const state = await ports.contexts.readConversation(conversation);
  if (state === undefined) throw noConversation(conversation);
  return state;
}

/** @throws not_found, version_gone, invalid_input for a head that the version does not cover */
async function readContext(ports: ClientPorts, name: ConversationName, at: ContextPoint = {}): Promise<ContextView> {
  const conversation = readConversationName(name);
  parseInput(contextPointSchema, at);
  const source = await ports.contexts.readContext(conversation, at);
  if (source === undefined) {
    const { size } = await readConversationState(ports, conversation);
    throw at.version === undefined ? noConversation(conversation) : missingVersion(conversation, size, at.version);
  }
  const { items, head, version } = await eventLoopShare.run(buildInSlices(source));
  const tokens = items.reduce((sum, item) => sum + item.tokens, FRAMING_TOKENS);
  const agentSnapshot = await readAgentSnapshot(ports, conversation, version);
  return {
    ...nameConversation(conversation),
    version: version.number,
    head,
    tokens,
    ...(agentSnapshot && { agentSnapshot }),
    items: items.map(({ from, to, tokens: itemTokens, message }) => ({ from, to, tokens: itemTokens, message })),
  };
}

/** @throws not_found, version_gone */
export async function readKeptVersion(
  { contexts }: ClientPorts,
  { conversation, size }: { readonly conversation: ConversationRef; readonly size: { readonly version: number } },
  number: number,
  field?: string,
): Promise<Version> {
  if (number === START_VERSION.number) return START_VERSION;
  const version = await contexts.readVersion(conversation, number);
  if (version === undefined) throw missingVersion(conversation, size, number, field);
  return version;
}

/** Every number up to that of the live version existed once (`version_gone`). A larger one never did (`not_found`). */
export function missingVersion(
  conversation: ConversationRef,
  live: { readonly version: number },
  number: number,
  field = 'version',
): TurnfoldError {
  return number > live.version ? noVersion(conversation, number, field) : versionGone(conversation, number, field);
}

export async function readAgentSnapshot(
  { contexts }: ClientPorts,
  conversation: ConversationRef,
  { systemHash, pinsHash, toolsHash }: Version,
): Promise<AgentSnapshot | undefined> {
  if (systemHash === START_VERSION.systemHash) return undefined;
  // The store keeps no empty texts, so an absent system prompt is empty.
  const [system = '', pins, tools] = await Promise.all([
    contexts.readText(conversation, systemHash),
    contexts.readAgentList(conversation, pinsHash, pinsSchema),
    contexts.readAgentList(conversation, toolsHash, toolsSchema),
  ]);
  return { system, pins, tools };
}

const pinsSchema = boundedList(z.string(), MAX_GROWN_ENTRIES);
const toolsSchema: z.ZodType<ToolDescription[]> = boundedList(
  z.object({
    name: z.string(),
    description: z.string(),
    parameters: boundedRecord(z.string(), z.unknown(), MAX_GROWN_ENTRIES),
  }),
  MAX_GROWN_ENTRIES,
);
