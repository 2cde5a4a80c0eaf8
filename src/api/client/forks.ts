import { findVersionBefore } from '../../compaction/restore.ts';
import type { Acknowledged } from '../../domain/durability.ts';
import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import type { OpenCall } from '../../domain/history.ts';
import { type ConversationRef, nameConversation, operationId, seqOfCallId } from '../../domain/ids.ts';
import type { LogEntry } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { START_VERSION, shownKeys, type Version } from '../../domain/version.ts';
import type { ForkBatch, ForkEndResult, ForkLost, ForkPlan } from '../../store/forks.ts';
import type { KeptTexts } from '../../store/version-record.ts';
import type { Methods } from '../contract/client.ts';
import { forkSchema } from '../contract/conversations.ts';
import { type ContextPoint, readConversationName } from '../contract/names.ts';
import { beingCopied, checkDurability, noVersion, versionGone } from './client-errors.ts';
import { readConversationState } from './contexts.ts';
import { nameClientCall, operationConflict } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';

export const forkMethods = {
  /**
   * Copies in batches, because source and copy may lie in different Cluster slots. After a minute without progress,
   * another operation may take over the copy.
   * @throws invalid_input for a head outside the version, not_found, version_gone, conversation_forking,
   * fork_abandoned, accepted_unsure
   * @throws conflict if `to` exists, gone if a conversation is erased during the copy
   */
  fork: async (ports, from, to, input = {}) => {
    const source = readConversationName(from);
    const conversation = readConversationName(to, 'to');
    const { operation: given, ...at } = parseInput(forkSchema, input);
    const operation = nameClientCall(ports, given, ['fork', source, at]);
    const { agent, conversationTtl, isForking = false } = await readConversationState(ports, source);
    if (isForking) throw beingCopied(source, { isAbandoned: await ports.versions.isForkAbandoned(source) }, 'from');
    await ports.versions.startIdleTtl(source);
    const wanted = await planFork(ports, source, at);
    // Owner and title are copied, so that the readers of the source may read the copy.
    const { owner, title } = (await ports.listings.readAbout(source)) ?? {};
    const begin = { conversation, operation, agent, plan: wanted, conversationTtl, owner, title };
    const begun = await ports.versions.beginFork(begin);
    if (begun.status === 'exists') {
      const why = `the conversation ${conversation.id} exists already. Choose another id, or erase it first`;
      throw fieldError('conflict', 'to', why);
    }
    if (begun.status === 'other_payload') throw operationConflict(operation);
    if (begun.status === 'forking') throw beingCopied(conversation, begun, 'to');
    const { plan } = begun;
    const done = begun.status === 'done' ? begun : await copy(ports, { conversation, operation, plan }, begun.copied);
    checkDurability(done, { field: 'operation', id: operationId(operation) });
    return { ...nameConversation(conversation), head: plan.head };
  },
} satisfies Methods<ClientPorts>;

/** Redis serves no other client while it writes a batch, so a batch of this size takes less than a second. */
const BATCH_ENTRIES = 200;
const BATCH_BYTES = 2_000_000;
const NO_TEXTS: KeptTexts = { summaries: new Map(), byHash: new Map() };

/** Copies texts and log entries until Redis has all, also after a failover that lost batches. */
async function copy(ports: ClientPorts, fork: OpenFork, copied: number): Promise<Acknowledged<ForkEndResult>> {
  const { conversation, operation, plan } = fork;
  const version = await readSourceVersion(ports, plan);
  for (let at = copied; ; ) {
    await copyTexts(ports, fork, version);
    at = await copyLog(ports, fork, at);
    if (at < plan.head) continue;
    const ended = await ports.versions.endFork(conversation, operation, firstVersion(version, ports.now()));
    checkOwned(conversation, ended);
    if (ended.status !== 'incomplete') return ended;
    at = ended.head;
  }
}

interface OpenFork {
  readonly conversation: ConversationRef;
  readonly operation: string;
  readonly plan: ForkPlan;
}

async function planFork(ports: ClientPorts, source: ConversationRef, at: ContextPoint): Promise<ForkPlan> {
  const { head: last, size } = await readConversationState(ports, source);
  const { head = last } = at;
  const versions = await ports.contexts.listVersions(source);
  const wanted = at.version ?? (at.head === undefined ? size.version : undefined);
  if (wanted !== undefined && wanted > size.version) throw noVersion(source, wanted);
  const version =
    wanted === START_VERSION.number
      ? START_VERSION
      : wanted === undefined
        ? findVersionBefore(versions, head + 1)
        : versions.find(({ number }) => number === wanted);
  if (version === undefined) throw versionGone(source, wanted ?? (versions[0]?.number ?? 1) - 1);
  if (head >= version.base && head <= last) return { source, version: version.number, head };
  const { number, base } = version;
  const range = base === last ? `${base} alone` : `${base}…${last}`;
  const why = `version ${number} covers the messages up to ${base}. Choose a head at ${range}`;
  throw fieldError('invalid_input', 'head', why, { details: { head, base, last } });
}

async function readSourceVersion({ contexts }: ClientPorts, { source, version }: ForkPlan): Promise<Version> {
  if (version === START_VERSION.number) return START_VERSION;
  const found = await contexts.readVersion(source, version);
  if (found === undefined) throw versionGone(source, version);
  return found;
}

/** Keeps segments and summary labels, so that the model receives the same bytes as in the source. */
function firstVersion(version: Version, now: number): Version {
  const { tokensAfter } = version;
  const unmade = { strategy: 'none', archived: 0, durationMs: 0, tokensBefore: tokensAfter } as const;
  const explained = [`forked_${version.number}`];
  return { ...version, ...unmade, explained, reasons: [], number: 1, parent: 0, cause: 'fork', at: now };
}

/** Copies summaries, and full texts of clipped messages. @throws version_gone if a text is missing */
async function copyTexts(ports: ClientPorts, fork: OpenFork, version: Version): Promise<void> {
  const names = new Set(shownKeys(version));
  const missing = new Set(names);
  let cursor = '0';
  do {
    const reading = ports.versions.readTexts(fork.plan.source, cursor);
    const { summaries, byHash, next } = await readSource(ports, fork, reading);
    const shown = new Map([...summaries].filter(([key]) => names.has(key)));
    for (const key of shown.keys()) missing.delete(key);
    cursor = next;
    if (shown.size + byHash.size > 0) {
      await copyBatch(ports, fork, { expectedHead: -1, texts: { summaries: shown, byHash } });
    }
  } while (cursor !== '0');
  if (missing.size > 0) throw versionGone(fork.plan.source, version.number);
}

/** @returns the last seq of the copy, which is below the planned one if a failover lost batches */
async function copyLog(ports: ClientPorts, fork: OpenFork, copied: number): Promise<number> {
  const { source, head } = fork.plan;
  let at = copied;
  while (at < head) {
    const to = Math.min(head, at + BATCH_ENTRIES);
    const entries = takeBytes(await readSource(ports, fork, ports.contexts.readLog(source, [{ from: at + 1, to }])));
    if (entries.length === 0) throw erasedMeanwhile('from', source);
    const next = await copyBatch(ports, fork, { expectedHead: at, entries });
    if (next < at) return next;
    at = next;
  }
  return at;
}

/** Reads from the source and restarts its idle TTL, so that the source does not expire during the copy. */
async function readSource<T>({ versions }: ClientPorts, { plan }: OpenFork, reading: Promise<T>): Promise<T> {
  const [batch] = await Promise.all([reading, versions.startIdleTtl(plan.source)]);
  return batch;
}

/** @returns the last seq of the fork, which a concurrent call of the same operation may have extended */
async function copyBatch(
  { versions }: ClientPorts,
  { conversation, operation }: OpenFork,
  { entries = [], ...batch }: Partial<ForkBatch> & Pick<ForkBatch, 'expectedHead'>,
): Promise<number> {
  const filled = { texts: NO_TEXTS, entries, ...callsOf(entries), ...batch };
  const result = await versions.copyToFork(conversation, operation, filled);
  checkOwned(conversation, result);
  return result.status === 'copied' ? result.head : batch.expectedHead;
}

function takeBytes(entries: readonly LogEntry[]): readonly LogEntry[] {
  const start = (entries[0]?.total.bytes ?? 0) - (entries[0]?.bytes ?? 0);
  const end = entries.findIndex(({ total }) => total.bytes - start > BATCH_BYTES);
  return end === -1 ? entries : entries.slice(0, Math.max(1, end));
}

/** `opens`: calls without a result among these entries. `closes`: earlier calls whose results are among them. */
function callsOf(entries: readonly LogEntry[]): { readonly opens: OpenCall[]; readonly closes: string[] } {
  const first = entries[0]?.seq ?? 0;
  const answered = new Set(entries.flatMap(({ message }) => message.toolCallId ?? []));
  const made = entries.flatMap(({ message }) => message.toolCalls ?? []);
  return {
    opens: made
      .filter(({ id }) => !answered.has(id))
      .map(({ id, providerId }) => (providerId === undefined ? { id } : { id, providerId })),
    closes: [...answered].filter((id) => seqOfCallId(id) < first),
  };
}

function erasedMeanwhile(field: 'from' | 'to', { id }: ConversationRef): TurnfoldError {
  return fieldError('gone', field, `the conversation ${id} was erased during the copy`);
}

function checkOwned(conversation: ConversationRef, { status }: { readonly status: string } | ForkLost): void {
  const { id } = conversation;
  if (status === 'gone') throw erasedMeanwhile('to', conversation);
  if (status !== 'superseded') return;
  const why = `another fork operation is copying to ${id}. Choose another id for the new conversation`;
  throw fieldError('conflict', 'to', why);
}
