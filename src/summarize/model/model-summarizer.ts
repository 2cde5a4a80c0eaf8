import type { Clock } from '../../domain/clock.ts';
import type { Model } from '../../domain/model.ts';
import type { Summarizer, SummaryRequest } from '../../domain/summarizer.ts';
import type { Tracing } from '../../domain/tracing.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { readLogProgress } from '../progress/progress.ts';
import { writeFront } from '../progress/progress-lines.ts';
import { listEffects } from './effects.ts';
import { Evidence } from './evidence.ts';
import { renderSystem } from './instructions.ts';
import { type QuotedSections, quoteSections } from './quoted-sections.ts';
import { type RecordResult, RecordWriting } from './record-writing.ts';
import { fitSections, renderSections, type Sections } from './sections.ts';

interface ModelSummarizerOptions {
  readonly model: Model;
  readonly counter: TokenCounter;
  readonly clock: Clock;
  readonly tracing?: Tracing | undefined;
  /** Instructions of the policy, which are appended to the built-in instructions. */
  readonly prompt?: string | undefined;
  /**
   * Milliseconds of silence that end a call (default 90,000). A model that keeps sending also gets the time for its
   * output limit.
   */
  readonly callTimeoutMs?: number | undefined;
  /** True if the model's provider may have the start of the agent's requests in its cache. */
  readonly hasCachedPrefix?: boolean;
}

/** Minimum tokens of a summary. With fewer, a section has hardly room for a sentence. */
const MIN_TOKENS = 100;
/** Maximum tokens of the user's request in a prompt, because a user message may have a megabyte. */
const MAX_USER_REQUEST_TOKENS = 1_000;
/** Maximum share of a summary for the list of calls and outcomes. */
const EFFECTS_SHARE = 0.25;
/** Minimum share of the remaining tokens for lines of the log, if the model's sections lost something. */
const LINES_SHARE = 0.25;
const HEADING_TOKENS = 8;
/** How often the input is halved while the provider refuses it as too large. */
const MAX_HALVINGS = 3;

/**
 * Lets a model choose places of the log. Code quotes them, and adds lines that the model lost. Code also lists the
 * progress and the calls, so that no model pays for them or gets them wrong.
 * Messages above the model's window are summarized in parts, which are merged.
 */
export function createModelSummarizer(options: ModelSummarizerOptions): Summarizer {
  const { model, counter, prompt, hasCachedPrefix = false } = options;
  const system = renderSystem(prompt);
  return {
    id: model.profile.id,
    async summarize(request) {
      if (request.maxTokens < MIN_TOKENS) {
        return { status: 'unfit', why: `a limit of ${request.maxTokens} tokens is too small for a summary` };
      }
      const evidence = await Evidence.read(counter, request);
      const facts = await readFacts(counter, request);
      const room = request.maxTokens - (await counter.count(`${renderFacts(facts)}\n`));
      const userRequest =
        request.userRequest === undefined
          ? undefined
          : await counter.clipStart(request.userRequest, MAX_USER_REQUEST_TOKENS);
      const writing = new RecordWriting({
        ...options,
        prompt,
        hasCachedPrefix,
        system,
        evidence,
        request: { ...request, userRequest },
        maxTokens: Math.floor(room * (1 - LINES_SHARE)),
      });
      const written = (await writing.writeFromCache()) ?? (await writeHalving(writing));
      if (written.status === 'overflow')
        return { status: 'refused', why: "even a part of the messages does not fit into the model's window" };
      if (written.status !== 'written') return written;
      const { ledger, quotes } = evidence;
      const sections = await eventLoopShare.run(quoteSections(written.sections, ledger, quotes));
      if (sections.size === 0) return { status: 'refused', why: 'the answer quotes nothing that the messages hold' };
      const text = await completeSummary(counter, request, { sections, facts, evidence });
      return text === undefined
        ? {
            status: 'refused',
            why: `a limit of ${request.maxTokens} tokens is too small for any section of the summary`,
          }
        : { status: 'written', text, isUpdate: written.isUpdate };
    },
  };
}

/** Parts of a summary that code writes from the log. */
interface Facts {
  /** Changed files, the last test run and the list of tasks. They stand before the first section. */
  readonly front: readonly string[];
  readonly sections: Sections;
}

async function readFacts(counter: TokenCounter, { messages, later = [], maxTokens }: SummaryRequest): Promise<Facts> {
  const all = [...messages, ...later];
  const progress = await eventLoopShare.run(readLogProgress(all, messages.length));
  const front = writeFront(counter, progress, maxTokens);
  const calls = progress.calls.filter(({ message }) => message < messages.length);
  const left = maxTokens - counter.countSync(front.join('\n'));
  const effects = listEffects(counter, { calls, messages: all }, Math.floor(left * EFFECTS_SHARE));
  return { front, sections: new Map(effects.length === 0 ? [] : [['effects', effects.join('\n')]]) };
}

function renderFacts({ front, sections }: Facts): string {
  return [...front, renderSections(sections)].join('\n').trimEnd();
}

interface SummaryMaterial {
  readonly sections: QuotedSections;
  readonly facts: Facts;
  readonly evidence: Evidence;
}

/**
 * Completes a summary with lines of the log. They get at least their share, and all room that the sections leave.
 * @returns undefined if none of the model's sections fits
 */
async function completeSummary(
  counter: TokenCounter,
  request: SummaryRequest,
  { sections, facts, evidence }: SummaryMaterial,
): Promise<string | undefined> {
  const { maxTokens, range } = request;
  const room = maxTokens - (await counter.count(`${renderFacts(facts)}\n`));
  const clipped = await renderWithin(counter, maxTokens - Math.floor(room * LINES_SHARE), { sections, facts });
  if (clipped === undefined) return undefined;
  const lines = await evidence.choose({
    maxTokens: maxTokens - (await counter.count(clipped)) - HEADING_TOKENS,
    range,
    said: clipped,
    render: ({ text }) => text,
  });
  const logged: Sections = new Map(lines.length === 0 ? [] : [['lines', lines.join('\n')]]);
  const written = { ...facts, sections: new Map([...facts.sections, ...logged]) };
  return await renderWithin(counter, maxTokens, { sections, facts: written });
}

/** @returns undefined if none of the model's sections fits beside the sections by code */
async function renderWithin(
  counter: TokenCounter,
  maxTokens: number,
  { sections, facts }: Pick<SummaryMaterial, 'sections' | 'facts'>,
): Promise<string | undefined> {
  let room = maxTokens - (await counter.count(`${renderFacts(facts)}\n`));
  for (;;) {
    const fitted = fitSections(counter, sections, room);
    if (fitted.size === 0) return undefined;
    const text = renderFacts({ ...facts, sections: new Map([...fitted, ...facts.sections]) });
    // Joined sections may have a token or two more than the sum of their counts.
    const excess = (await counter.count(text)) - maxTokens;
    if (excess <= 0) return text;
    room -= excess;
  }
}

async function writeHalving(writing: RecordWriting): Promise<RecordResult> {
  let inputTokens = await writing.measureInput();
  for (let halvings = 0; ; halvings += 1) {
    const written = await writing.write(inputTokens);
    if (written.status !== 'overflow' || halvings === MAX_HALVINGS) return written;
    inputTokens = Math.floor(Math.min(inputTokens, written.tokens) / 2);
  }
}
