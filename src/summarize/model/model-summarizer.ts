import type { Clock } from '../../domain/clock.ts';
import type { Model } from '../../domain/model.ts';
import type { Summarizer, SummaryRequest } from '../../domain/summarizer.ts';
import type { Tracing } from '../../domain/tracing.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
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
  /** Instructions of the policy, appended to the built-in ones. */
  readonly prompt?: string | undefined;
  /** A model that keeps sending also gets the time of its output limit. Default 90,000. */
  readonly callTimeoutMs?: number | undefined;
  /** The agent's own model, whose provider may have the conversation in its cache. */
  readonly isAgentsModel?: boolean;
}

/** With less, a section has room for hardly a sentence. */
const MIN_TOKENS = 100;
/** A user message may have a megabyte. */
const MAX_USER_REQUEST_TOKENS = 1_000;
/** Maximum share of a summary for calls and outcomes. */
const EFFECTS_SHARE = 0.25;
/** Minimum share of the rest for lines of the log, if the model's sections lost something. */
const LINES_SHARE = 0.25;
const HEADING_TOKENS = 8;
/** Halvings of the input, while the provider refuses it as too large. */
const MAX_HALVINGS = 3;

/**
 * Lets a model choose places of the log for several sections. Code quotes them, lists the tool calls, and adds lines of
 * the log that the model lost. Messages above the model's window are summarized in parts, which are merged.
 */
export function createModelSummarizer(options: ModelSummarizerOptions): Summarizer {
  const { model, counter, prompt, isAgentsModel = false } = options;
  const system = renderSystem(prompt);
  return {
    id: model.profile.id,
    async summarize(request) {
      if (request.maxTokens < MIN_TOKENS) {
        return { status: 'unfit', why: `a limit of ${request.maxTokens} tokens is too small for a summary` };
      }
      const evidence = await Evidence.read(counter, request);
      const effects = listEffects(counter, request.messages, Math.floor(request.maxTokens * EFFECTS_SHARE));
      const facts: Sections = new Map(effects.length === 0 ? [] : [['effects', effects.join('\n')]]);
      const room = request.maxTokens - (await counter.count(`${renderSections(facts)}\n`));
      const userRequest =
        request.userRequest === undefined
          ? undefined
          : await counter.clipStart(request.userRequest, MAX_USER_REQUEST_TOKENS);
      const writing = new RecordWriting({
        ...options,
        prompt,
        isAgentsModel,
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

interface SummaryMaterial {
  readonly sections: QuotedSections;
  readonly facts: Sections;
  readonly evidence: Evidence;
}

/**
 * Lines of the log fill what the sections leave of the limit, and at least their share of it.
 * @returns undefined if none of the model's sections fits
 */
async function completeSummary(
  counter: TokenCounter,
  request: SummaryRequest,
  { sections, facts, evidence }: SummaryMaterial,
): Promise<string | undefined> {
  const { maxTokens, range } = request;
  const room = maxTokens - (await counter.count(`${renderSections(facts)}\n`));
  const clipped = await renderWithin(counter, maxTokens - Math.floor(room * LINES_SHARE), { sections, facts });
  if (clipped === undefined) return undefined;
  const lines = await evidence.choose({
    maxTokens: maxTokens - (await counter.count(clipped)) - HEADING_TOKENS,
    range,
    said: clipped,
    render: ({ text }) => text,
  });
  const logged: Sections = new Map(lines.length === 0 ? [] : [['lines', lines.join('\n')]]);
  return await renderWithin(counter, maxTokens, { sections, facts: new Map([...facts, ...logged]) });
}

/** @returns undefined if none of the model's sections fits beside those of code */
async function renderWithin(
  counter: TokenCounter,
  maxTokens: number,
  { sections, facts }: Pick<SummaryMaterial, 'sections' | 'facts'>,
): Promise<string | undefined> {
  let room = maxTokens - (await counter.count(`${renderSections(facts)}\n`));
  for (;;) {
    const fitted = fitSections(counter, sections, room);
    if (fitted.size === 0) return undefined;
    const text = renderSections(new Map([...fitted, ...facts]));
    // Joined, sections may have a token or two more.
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
