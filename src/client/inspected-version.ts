import { keepLastEvidence } from '../domain/compaction/context-evidence.ts';
import type { ConversationState } from '../domain/conversation.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { CategorySize } from '../domain/inspection/breakdown.ts';
import type { EntryFate } from '../domain/inspection/entry-fates.ts';
import type { CompactionReport } from '../domain/inspection/report.ts';
import { parseInput } from '../domain/parse.ts';
import { START_VERSION, type Version } from '../domain/version.ts';
import { missingVersion, readConversationState } from './contexts.ts';
import { type ConversationName, readConversationName, versionNumberSchema } from './input.ts';
import type { ClientPorts } from './ports.ts';
import { RecentContexts } from './recent-contexts.ts';
import { RecentValues } from './recent-values.ts';

/** Ports of a client, with caches of the values that its inspecting calls computed last. */
export interface InspectionPorts extends ClientPorts {
  readonly recentContexts: RecentContexts;
  readonly recentFates: RecentValues<readonly EntryFate[]>;
  readonly recentCategories: RecentValues<readonly CategorySize[]>;
  readonly recentReports: RecentValues<CompactionReport>;
  /** Tokens of calls and thinking in kept contexts, by the call or message. */
  readonly recentCounts: WeakMap<object, number>;
  readonly readEvidence: ReturnType<typeof keepLastEvidence>;
}

export function withRecent(ports: ClientPorts): InspectionPorts {
  return {
    ...ports,
    recentContexts: new RecentContexts(ports),
    recentFates: new RecentValues(64),
    recentCategories: new RecentValues(64),
    recentReports: new RecentValues(64),
    recentCounts: new WeakMap(),
    readEvidence: keepLastEvidence(),
  };
}

/** The version that a call asks about, with its conversation. */
export interface InspectedVersion {
  readonly conversation: ConversationRef;
  readonly state: ConversationState;
  readonly version: Version;
  /** Cache key for values that are computed from the version. A new conversation with the same id has other keys. */
  readonly key: string;
}

/**
 * Reads a version of a conversation.
 * @param number absent: the live version
 * @throws not_found if the conversation or version never existed. version_gone if the version was dropped.
 */
export async function readInspected(
  ports: ClientPorts,
  name: ConversationName,
  number: number | undefined,
): Promise<InspectedVersion> {
  const conversation = readConversationName(name);
  if (number !== undefined) parseInput(versionNumberSchema, number, 'version');
  const state = await readConversationState(ports, conversation);
  const wanted = number ?? state.size.version;
  const version =
    wanted === START_VERSION.number ? START_VERSION : await ports.contexts.readVersion(conversation, wanted);
  if (version === undefined) throw missingVersion(conversation, state.size, wanted);
  const { tenant, id } = conversation;
  const { at, base } = version;
  return { conversation, state, version, key: [tenant, id, wanted, at, base].join('/') };
}
