import { subtractRanges } from '../../domain/seq-ranges.ts';
import type { EarlierSummary, SummaryRequest } from '../../domain/summarizer.ts';
import type { SeqRange } from '../../domain/version.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import type { Evidence } from './evidence.ts';
import { renderClosing, renderTask, type SummaryTask } from './instructions.ts';
import { callSummaryModel, hashTexts, type ModelCallInput, type ModelCallPorts } from './model-call.ts';
import { readSections, renderSections, type Sections } from './sections.ts';
import { readAnswer } from './summary-answer.ts';
import {
  renderEvidenceLine,
  renderRecord,
  renderTranscript,
  splitTranscript,
  type TranscriptMessage,
  type TranscriptPart,
} from './transcript.ts';

interface RecordWritingOptions extends ModelCallPorts {
  readonly counter: TokenCounter;
  readonly system: string;
  readonly request: Omit<SummaryRequest, 'userRequest'> & { readonly userRequest: string | undefined };
  readonly evidence: Evidence;
  readonly prompt: string | undefined;
  readonly hasCachedPrefix: boolean;
  readonly maxTokens: number;
}

export type RecordResult =
  | { readonly status: 'written'; readonly sections: Sections; readonly isUpdate: boolean }
  | { readonly status: 'refused' | 'failed'; readonly why: string }
  /** Tokens of a call that the provider refused as too large. */
  | { readonly status: 'overflow'; readonly tokens: number };

type WrittenSections =
  | { readonly status: 'written'; readonly sections: Sections }
  | Exclude<RecordResult, { status: 'written' }>;

type WrittenPart = { readonly status: 'written'; readonly text: string } | Exclude<RecordResult, { status: 'written' }>;

/** Factor by which an answer may exceed its limit. Code clips the excess. */
const OVERRUN = 2;
/** Tokens for thinking in addition to the summary, because some models cannot switch thinking off. */
const THINKING_TOKENS = 4_096;
/** Maximum share of the model's window for its answer. */
const MAX_OUTPUT_SHARE = 0.5;
const TASK_TOKENS = 250;
const MIN_PART_TOKENS = 64;
const EVIDENCE_SHARES = { ofSummary: 0.5, ofInput: 0.1 } as const;
/** Share of a call's input. Larger earlier summaries are ignored, and the original messages are read again. */
const MAX_EARLIER_SHARE = 0.25;
/** Tokens of a cached request per token to summarize. An expired cache multiplies the price by this factor. */
const MAX_PREFIX_FACTOR = 2;

/**
 * Asks a model for one summary. Messages above its window are written in parts, and one more call merges the parts.
 * Earlier summaries stand for their messages, so that only newer messages are read.
 */
export class RecordWriting {
  readonly #options: RecordWritingOptions;
  readonly #maxOutputTokens: number;

  constructor(options: RecordWritingOptions) {
    const { windowTokens, outputCapTokens } = options.model.profile;
    this.#options = options;
    this.#maxOutputTokens = Math.min(
      outputCapTokens,
      OVERRUN * options.maxTokens + THINKING_TOKENS,
      Math.floor(windowTokens * MAX_OUTPUT_SHARE),
    );
  }

  /** Tokens of messages and earlier summaries that fit into one call. */
  async measureInput(): Promise<number> {
    const { counter, model, system, request } = this.#options;
    const { windowTokens, upperBoundFactor } = model.profile;
    const fixed = (await counter.count(system + (request.userRequest ?? ''))) + TASK_TOKENS;
    return Math.floor((windowTokens - this.#maxOutputTokens) / upperBoundFactor) - fixed;
  }

  async write(inputTokens: number): Promise<RecordResult> {
    const { maxTokens } = this.#options;
    const earlier = await this.#chooseEarlier(inputTokens);
    const evidenceTokens = Math.floor(
      Math.min(maxTokens * EVIDENCE_SHARES.ofSummary, inputTokens * EVIDENCE_SHARES.ofInput),
    );
    const roomTokens = inputTokens - earlier.tokens - evidenceTokens;
    if (roomTokens < MIN_PART_TOKENS)
      return { status: 'refused', why: "even a part of the messages does not fit into the model's window" };
    const parts = await this.#split(earlier.records, roomTokens);
    const isUpdate = earlier.records.length > 0;
    const [part] = parts;
    if (part !== undefined && parts.length === 1) {
      const task = await this.#prepare(
        { messages: part.messages, records: earlier.records, maxTokens },
        evidenceTokens,
      );
      return this.#writeOne(task, isUpdate);
    }
    return this.#writeParts(parts, earlier.records, {
      maxTokens: Math.min(maxTokens, Math.floor(roomTokens / parts.length)),
      evidenceTokens,
    });
  }

  /**
   * Continues the agent's last request, so that the provider reads the messages from its cache. Another thinking
   * setting would void the cache.
   * @returns undefined if the request does not fit, or gives no summary
   * @throws the errors of `callSummaryModel`
   */
  async writeFromCache(): Promise<RecordResult | undefined> {
    const { counter, model, request, hasCachedPrefix, evidence, maxTokens, prompt } = this.#options;
    const prefix = hasCachedPrefix ? await request.readPrefix?.() : undefined;
    if (prefix === undefined || prefix.tokens > MAX_PREFIX_FACTOR * prefix.rangeTokens) return undefined;
    const { system, tokens: prefixTokens, rangeTokens, ...before } = prefix;
    const evidenceTokens = Math.floor(maxTokens * EVIDENCE_SHARES.ofSummary);
    const lines = await evidence.choose({
      maxTokens: evidenceTokens,
      range: request.range,
      render: renderEvidenceLine,
    });
    const content = renderClosing({ evidence: lines, maxTokens }, prompt);
    const tokens = prefixTokens + (await counter.count(content));
    const { windowTokens, upperBoundFactor } = model.profile;
    if (tokens * upperBoundFactor > windowTokens - this.#maxOutputTokens) return undefined;
    const written = await this.#ask({ system, content, before, tokens }, rangeTokens);
    const isUpdate = (request.earlier ?? []).length > 0;
    return written.status === 'written' ? { ...written, isUpdate } : undefined;
  }

  async #prepare(
    task: Pick<SummaryTask, 'messages' | 'records' | 'maxTokens'>,
    maxTokens: number,
  ): Promise<SummaryTask> {
    const { request, evidence } = this.#options;
    const isPart = task.messages.length > 0 && task.records.length === 0;
    const range = isPart ? coverOf(task.messages) : request.range;
    const lines = await evidence.choose({ maxTokens, range, render: renderEvidenceLine });
    return { ...task, userRequest: request.userRequest, evidence: lines };
  }

  async #chooseEarlier(inputTokens: number): Promise<{ records: readonly EarlierSummary[]; tokens: number }> {
    const { counter, request } = this.#options;
    const records = (request.earlier ?? []).map(withoutFacts);
    const tokens = await counter.count(records.map(renderRecord).join('\n'));
    return tokens > inputTokens * MAX_EARLIER_SHARE ? { records: [], tokens: 0 } : { records, tokens };
  }

  async #split(records: readonly EarlierSummary[], maxTokens: number): Promise<TranscriptPart[]> {
    const { counter, request } = this.#options;
    const stretches = subtractRanges(
      request.range,
      records.map(({ covers }) => covers),
    );
    const split = await Promise.all(
      stretches.map(({ from, to }) => {
        const messages = request.messages.slice(from - request.range.from, to - request.range.from + 1);
        return splitTranscript(counter, { messages, firstSeq: from }, maxTokens);
      }),
    );
    const parts = split.flat();
    const tokens = parts.reduce((sum, part) => sum + part.tokens, 0);
    return tokens > maxTokens ? parts : [{ messages: parts.flatMap(({ messages }) => messages), tokens }];
  }

  async #writeParts(
    parts: readonly TranscriptPart[],
    earlier: readonly EarlierSummary[],
    { maxTokens, evidenceTokens }: { readonly maxTokens: number; readonly evidenceTokens: number },
  ): Promise<RecordResult> {
    if (maxTokens < MIN_PART_TOKENS)
      return {
        status: 'refused',
        why: `the messages were split into ${parts.length} parts, which are too many to merge into one summary`,
      };
    const records: EarlierSummary[] = [];
    const partEvidence = Math.floor(Math.min(evidenceTokens, maxTokens * EVIDENCE_SHARES.ofSummary));
    // Parallel calls would use up the provider's rate limit, which turns need, too.
    for (const { messages } of parts) {
      const part = await this.#writePart(await this.#prepare({ messages, records: [], maxTokens }, partEvidence));
      if (part.status !== 'written') return part;
      records.push({ text: part.text, covers: coverOf(messages) });
    }
    const ordered = [...earlier, ...records].toSorted((a, b) => a.covers.from - b.covers.from);
    const merge = { messages: [], records: ordered, maxTokens: this.#options.maxTokens };
    return this.#writeOne(await this.#prepare(merge, evidenceTokens), earlier.length > 0);
  }

  async #writePart(task: SummaryTask): Promise<WrittenPart> {
    const { model, system, request } = this.#options;
    const key = hashTexts(model.profile.id, system, renderTask(task));
    const kept = await request.parts?.read(key);
    if (kept !== undefined) return { status: 'written', text: kept };
    const written = await this.#writeOne(task, false);
    if (written.status !== 'written') return written;
    const text = renderSections(written.sections);
    await request.parts?.write(key, text);
    return { status: 'written', text };
  }

  async #writeOne(task: SummaryTask, isUpdate: boolean): Promise<RecordResult> {
    const { counter, system } = this.#options;
    const content = renderTask(task);
    const tokens = await counter.count(system + content);
    const transcript = task.messages.length === 0 ? '' : renderTranscript(task.messages);
    const sourceTokens = await counter.count(transcript + task.records.map(renderRecord).join('\n'));
    const written = await this.#ask({ system, content, tokens }, sourceTokens);
    return written.status === 'written' ? { ...written, isUpdate } : written;
  }

  /** @param sourceTokens tokens of the texts that the summary stands for */
  async #ask(input: Omit<ModelCallInput, 'maxOutputTokens'>, sourceTokens: number): Promise<WrittenSections> {
    const { counter, request } = this.#options;
    const maxOutputTokens = this.#maxOutputTokens;
    const result = await callSummaryModel(this.#options, { ...input, maxOutputTokens }, request);
    if (result.status !== 'answered') return result;
    const read = readAnswer(result.answer);
    if (read.status === 'refused') return read;
    const tokens = await counter.count([...read.sections.values()].join('\n'));
    return tokens < sourceTokens
      ? read
      : { status: 'refused', why: `the summary has ${tokens} tokens, and the messages only ${sourceTokens}` };
  }
}

function coverOf(messages: readonly TranscriptMessage[]): SeqRange {
  return { from: messages[0]?.seq ?? 1, to: messages.at(-1)?.seq ?? 1 };
}

/** Removes the sections that code writes. Code writes them again, from the calls of the whole range. */
function withoutFacts({ text, covers }: EarlierSummary): EarlierSummary {
  const sections = readSections(text);
  return { text: sections.size === 0 ? text : renderSections(sections), covers };
}
