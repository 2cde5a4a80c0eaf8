import { keepLastEvidence } from '../../compaction/context-evidence.ts';
import type { CategorySize, SizedThinking } from '../../compaction/inspection/breakdown.ts';
import type { EntryFate } from '../../compaction/inspection/entry-fates.ts';
import type { CompactionReport, ReportFrame } from '../../compaction/inspection/report.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Message, ToolCall } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { START_VERSION, type Summary, type SummarySegment, type Version } from '../../domain/version.ts';
import { type ConversationName, readConversationName, versionNumberSchema } from '../contract/names.ts';
import { eraseConversation, missingVersion, readConversationState } from './contexts.ts';
import type { ClientPorts } from './ports.ts';
import { prefixOf, RecentContexts } from './recent-contexts.ts';

/** The parts that all reports of a version share. */
export interface ReportSource {
  readonly frame: ReportFrame;
  /** Summaries that are new in the version, with their segments. */
  readonly summaries: readonly { readonly segment: SummarySegment; readonly summary: Summary }[];
}

/** Ports of a client, with caches of the values that its inspecting calls computed last. */
export interface InspectionPorts extends ClientPorts {
  readonly recentContexts: RecentContexts;
  readonly recentFates: RecentValues<readonly EntryFate[]>;
  readonly recentCategories: RecentValues<readonly CategorySize[]>;
  readonly recentReports: RecentValues<CompactionReport>;
  readonly recentFrames: RecentValues<ReportSource>;
  /** Tokens of calls in kept contexts. */
  readonly recentCounts: WeakMap<ToolCall, number>;
  /** Sizes of thinking in kept contexts. Undefined for a message without thinking. */
  readonly recentThinking: WeakMap<Message, SizedThinking | undefined>;
  readonly readEvidence: ReturnType<typeof keepLastEvidence>;
}

export function withRecent(ports: ClientPorts): InspectionPorts {
  return {
    ...ports,
    recentContexts: new RecentContexts(ports),
    recentFates: new RecentValues(64),
    recentCategories: new RecentValues(64),
    recentReports: new RecentValues(16),
    recentFrames: new RecentValues(16),
    recentCounts: new WeakMap(),
    recentThinking: new WeakMap(),
    readEvidence: keepLastEvidence(),
  };
}

/** The version that a call asks about, with its conversation. */
export interface InspectedVersion {
  readonly conversation: ConversationRef;
  readonly state: ConversationState;
  readonly version: Version;
  /** Cache key for values that are computed from the version. A new conversation with the same id has another key. */
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
  return { conversation, state, version, key: `${prefixOf(conversation)}${state.incarnation}/${wanted}` };
}

/** Erases a conversation, and all that the caches of this client hold of it. */
export async function eraseInspected(
  ports: InspectionPorts,
  name: ConversationName,
): Promise<{ readonly removedKeys: number }> {
  const prefix = prefixOf(readConversationName(name));
  try {
    return await eraseConversation(ports, name);
  } finally {
    const { recentContexts, recentFates, recentCategories, recentReports, recentFrames } = ports;
    for (const cache of [recentContexts, recentFates, recentCategories, recentReports, recentFrames]) {
      cache.forget(prefix);
    }
  }
}

/** Keeps the values that were computed last, by key. Callers who ask during a computation share its result. */
class RecentValues<Value> {
  readonly #most: number;
  readonly #kept = new Map<string, Promise<Value>>();

  /** @param most number of values to keep */
  constructor(most: number) {
    this.#most = most;
  }

  /** Returns the value of a key. Computes it if it is not kept. A computation that fails is not kept. */
  async get(key: string, compute: () => Promise<Value>): Promise<Value> {
    const known = this.#kept.get(key);
    const value = known ?? compute();
    this.#kept.delete(key);
    this.#kept.set(key, value);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#most && oldest !== undefined) this.#kept.delete(oldest);
    try {
      return await value;
    } catch (error) {
      if (this.#kept.get(key) === value) this.#kept.delete(key);
      throw error;
    }
  }

  /** Forgets all values whose key begins with `prefix`. */
  forget(prefix: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#kept.delete(key);
  }
}
