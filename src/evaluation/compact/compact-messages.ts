import { isSendable } from '../../compaction/thresholds.ts';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import { adoptMessages } from '../../domain/history.ts';
import type { Message, WeighedMessage, Weight } from '../../domain/message.ts';
import type { Reason } from '../../domain/pass.ts';
import { readRawItems } from '../../domain/raw-items.ts';
import { contextSize } from '../../domain/size.ts';
import type { Summarizer } from '../../domain/summarizer.ts';
import type { HistoryNote } from '../../wire/histories/notes.ts';
import { decideStep, decideTurnEnd } from '../../workers/turn/step-decision.ts';
import { infeasibleError, NOTHING_DONE, refusedError, reportCompaction } from '../compact.ts';
import { EvaluatedPasses } from '../evaluated-passes.ts';
import { createOfflineSummarizers, type EvaluatedAgent, prepareOfflineAgent } from '../offline-agent.ts';
import { RememberedCounts } from '../remembered-counts.ts';
import type { CompactedMessages, CompactedRange, CompactReport } from './compacted-messages.ts';
import type { MessageKind } from './kinds/kind.ts';
import { type CheckedCompaction, type CompactMessagesOptions, checkCompaction } from './options.ts';
import { findKind, type ReadEntry, readGiven } from './read-given.ts';
import { type CompactState, hashMessage, matchState, writeState } from './state.ts';
import { writeGiven } from './write-given.ts';

/**
 * Compacts the messages of one conversation if the policy and the window require it. Calls no model, no Redis and no
 * worker. Does not change the given values. The same input gives the same messages.
 *
 * A call decides as a worker does, because it runs the code of the workers over a conversation in memory:
 * 1. `readGiven` reads messages of any format as a log, and remembers the given message of each entry.
 * 2. `matchState` compares hashes, to reuse the counts and the compacted context of an earlier call.
 * 3. `EvaluatedPasses` runs a pass if `decideStep` or `decideTurnEnd` has a reason for a pass.
 * 4. `writeGiven` writes the context in the caller's format, with the given objects wherever they did not change. A
 * conversion to turnfold's format and back would lose the fields that only the caller's format has.
 * @throws invalid_input or invalid_policy with the field of a wrong option, or the path of a wrong message
 * @throws budget_infeasible if the messages do not fit, and nothing more may be removed
 */
export async function compactMessages<Item>(options: CompactMessagesOptions<Item>): Promise<CompactedMessages<Item>> {
  const compaction = await openCompaction(checkCompaction(options));
  const ran = await compaction.run();
  const { messages, changed } = compaction.write();
  const report = compaction.report(ran);
  return { messages: messages as Item[], changed, report, state: compaction.state };
}

async function openCompaction(options: CheckedCompaction): Promise<Compaction> {
  const kind = findKind(options.messages, options.format);
  const { entries: read, notes } = readGiven(options.messages, kind);
  const adopted = adoptMessages(
    read.map(({ message }) => message),
    1,
  ).messages;
  const entries = read.map((entry, index) => ({ ...entry, message: adopted[index] as Message }));
  const hashes = adopted.map(hashMessage);
  const counts = new RememberedCounts();
  const prepared = await prepare(options, counts);
  const known = matchState(options.state, hashes);
  const weighed = await weighFrom(adopted, known.weights, prepared);
  const errors: unknown[] = [];
  const structural = await createOfflineSummarizers(counts);
  const own = options.summarize === undefined ? [] : [callerSummarizer(options.summarize, errors)];
  const passes = new EvaluatedPasses(prepared, (policy, agent) => [...own, ...structural(policy, agent)]);
  for (const message of weighed) passes.conversation.append(message);
  if (known.record !== undefined) passes.conversation.restore(known.record);
  return new Compaction({ options, kind, entries, hashes, weighed, notes, prepared, passes, errors });
}

/** @throws invalid_input or invalid_policy that names the option which leaves no room for messages */
async function prepare(options: CheckedCompaction, counts: RememberedCounts): Promise<EvaluatedAgent> {
  const { policy, window, system, tools } = options;
  const counter = await counts.load('o200k_base');
  const reservedTokens = await counter.count(tools);
  const most = window.usableTokens ?? window.limits?.windowTokens ?? Number.POSITIVE_INFINITY;
  if (reservedTokens >= most) {
    const why = `the tools leave no room for messages: they need ${reservedTokens} tokens, and a whole request may have at most ${most}. Pass fewer tools, or a larger window`;
    throw fieldError('invalid_input', 'tools', why);
  }
  try {
    return await prepareOfflineAgent(policy, { ...window, reservedTokens }, counts, system);
  } catch (error) {
    if (!isTurnfoldError(error, 'invalid_policy') || error.field === undefined) throw error;
    const isOwn = Object.hasOwn(policy, error.field);
    const named = Object.keys(window).includes('usableTokens') ? 'window' : (Object.keys(window)[0] ?? 'policy');
    throw fieldError('invalid_policy', isOwn ? `policy.${error.field}` : named, error.reason, { cause: error });
  }
}

async function weighFrom(
  messages: readonly Message[],
  known: readonly Weight[],
  prepared: EvaluatedAgent,
): Promise<WeighedMessage[]> {
  return await Promise.all(
    messages.map(async (message, index) => {
      const weight = known[index];
      if (weight !== undefined) return { message, tokens: weight.tokens, bytes: weight.bytes };
      const weighed = await prepared.weigh(message);
      return { ...weighed, tokens: weighed.tokens + (await weighThinking(message, prepared)) };
    }),
  );
}

/** Maximum base64 characters of encrypted thinking per token. */
const ENCRYPTED_CHARS = 5;
const ENCRYPTED: ReadonlySet<string> = new Set(['encrypted_content', 'data']);

/** Estimates thinking, which is sent again as given. A worker learns this size from the provider's count. */
async function weighThinking(message: Message, { counter }: Pick<EvaluatedAgent, 'counter'>): Promise<number> {
  const items = readRawItems(message)?.items ?? [];
  let encrypted = 0;
  const text = JSON.stringify(items, (key, value: unknown) => {
    // Signatures, ids and contents do not count. A message of OpenAI Chat repeats its content beside its reasoning.
    if (key === 'signature' || key === 'id' || (key === 'content' && typeof value === 'string')) return undefined;
    if (typeof value !== 'string' || !ENCRYPTED.has(key)) return value;
    encrypted += value.length;
    return undefined;
  });
  if (items.length === 0) return 0;
  return (await counter.count(text)) + Math.ceil(encrypted / ENCRYPTED_CHARS);
}

function callerSummarizer(summarize: NonNullable<CheckedCompaction['summarize']>, errors: unknown[]): Summarizer {
  return {
    id: 'caller',
    summarize: async ({ messages, earlier, userRequest, maxTokens, signal }) => {
      try {
        const text: unknown = await summarize({
          messages,
          maxTokens,
          signal,
          ...(earlier && { earlier: earlier.map(({ text: summary }) => summary) }),
          ...(userRequest !== undefined && { userRequest }),
        });
        if (typeof text === 'string') return { status: 'written', text };
        throw fieldError('invalid_input', 'summarize', 'expected a promise of a string');
      } catch (error) {
        errors.push(error);
        return { status: 'failed', why: 'the function of the caller failed' };
      }
    },
  };
}

type Outcome = Awaited<ReturnType<EvaluatedPasses['run']>>;

interface CompactionParts {
  readonly options: CheckedCompaction;
  readonly kind: MessageKind;
  readonly entries: readonly ReadEntry[];
  readonly hashes: readonly string[];
  readonly weighed: readonly WeighedMessage[];
  readonly notes: readonly HistoryNote[];
  readonly prepared: EvaluatedAgent;
  readonly passes: EvaluatedPasses;
  readonly errors: readonly unknown[];
}

class Compaction {
  readonly #parts: CompactionParts;
  readonly #tokensBefore: number;

  constructor(parts: CompactionParts) {
    this.#parts = parts;
    this.#tokensBefore = this.#tokens;
  }

  /** Runs a pass if it is due. @throws budget_infeasible or invalid_context for messages that cannot be sent */
  async run(): Promise<Outcome | undefined> {
    const reasons = this.#findReasons();
    if (reasons.length === 0) return undefined;
    const outcome = await this.#parts.passes.run(reasons);
    if (this.#isSendable) return outcome;
    if (outcome.kind === 'infeasible') throw infeasibleError(outcome.details);
    if (outcome.kind === 'refused') throw refusedError(outcome.refusal);
    const { usable } = this.#parts.prepared.limits;
    throw fieldError(
      'budget_infeasible',
      'messages',
      `compaction leaves ${this.#tokens} tokens, but a request may have ${usable}. Lower maxTokens in the policy, or shorten the newest messages`,
    );
  }

  write(): { readonly messages: readonly unknown[]; readonly changed: boolean } {
    const { kind, entries, options } = this.#parts;
    const given = options.messages;
    const { items } = this.#parts.passes.conversation.context;
    const isWhole = items.length === entries.length && items.every(({ segment }) => segment === undefined);
    if (isWhole && !entries.some(({ isRepaired }) => isRepaired)) return { messages: given, changed: false };
    return { messages: writeGiven({ kind, given, entries, items }), changed: true };
  }

  get state(): CompactState {
    const { hashes, weighed, passes } = this.#parts;
    return writeState(hashes, weighed, passes.conversation.record);
  }

  report(outcome: Outcome | undefined): CompactReport {
    const { prepared, notes, errors, passes } = this.#parts;
    const own = { ranges: this.#listRanges(), notes, errors };
    if (outcome?.kind === 'version') return { ...reportCompaction(outcome.settled, outcome.reasons, prepared), ...own };
    const { tokens, bytes } = contextSize(passes.conversation.state.size, prepared.overhead);
    const sizes = { tokensBefore: this.#tokensBefore, tokensAfter: tokens, bytesAfter: bytes };
    return { kind: 'none', reasons: outcome?.reasons ?? [], ...sizes, ...NOTHING_DONE, ...own };
  }

  get #tokens(): number {
    const { passes, prepared } = this.#parts;
    return contextSize(passes.conversation.state.size, prepared.overhead).tokens;
  }

  get #isSendable(): boolean {
    return isSendable(this.#parts.prepared.limits, this.#tokens);
  }

  #findReasons(): readonly Reason[] {
    const { options, prepared, passes, entries } = this.#parts;
    if (options.force) return ['manual'];
    const { state } = passes.conversation;
    const last = entries.at(-1)?.message;
    const decision = decideStep(prepared, state, true);
    if (decision.kind === 'refuse') return [];
    if (decision.kind === 'wait' || decision.reasons.length > 0) return decision.reasons;
    const hasTurnEnded = last?.role === 'assistant' && last.toolCalls === undefined;
    return hasTurnEnded ? decideTurnEnd(prepared, state).reasons : [];
  }

  #listRanges(): CompactedRange[] {
    const { entries, passes } = this.#parts;
    const { version, summaries } = passes.conversation.record;
    const indexAt = (seq: number, at: 0 | -1): number => entries[seq - 1]?.unit.parts.at(at)?.index ?? 0;
    return version.segments.flatMap((segment): CompactedRange[] => {
      const { kind, from, to } = segment;
      if (kind === 'raw') return [];
      const by = kind === 'summary' ? summaries[segment.summaryKey]?.model : undefined;
      return [{ from: indexAt(from, 0), to: indexAt(to, -1), kind, ...(by !== undefined && { by }) }];
    });
  }
}
