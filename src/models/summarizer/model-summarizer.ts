import type { Model } from '../../domain/model.ts';
import type { Clock } from '../../domain/ports/clock.ts';
import type { Summarizer } from '../../domain/ports/summarizer.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';
import type { Tracing } from '../../domain/ports/tracing.ts';
import { readCallFacts } from './call-facts.ts';
import { renderSystem } from './instructions.ts';
import { RecordWriting, type Written } from './record-writing.ts';
import { fitSections, renderSections, type Sections } from './sections.ts';

export interface ModelSummarizerOptions {
  readonly model: Model;
  /** of the model's encoding */
  readonly counter: TokenCounter;
  readonly clock: Clock;
  readonly tracing?: Tracing | undefined;
  /** what the record has to take care of besides, in words to the model */
  readonly prompt?: string | undefined;
  /** for one call; a pass waits a minute for its summaries, and the next in the chain needs time too (default 40 s) */
  readonly callTimeoutMs?: number;
}

const CALL_TIMEOUT_MS = 40_000;
/** Below this the sections hardly hold a sentence each. */
const MIN_TOKENS = 100;
/** Of the user's message before the sequence, which may have a megabyte. */
const MAX_ASKED_TOKENS = 1_000;
/** A provider that calls a request too large is given half, so often. */
const MAX_HALVINGS = 3;

/**
 * Summarizes with a model: a record of sections, some of which code fills from the calls. What does not fit its window is
 * split between groups, summarized in parts and merged. Refused where the model's answer is no record of what it was given.
 */
export function createModelSummarizer(options: ModelSummarizerOptions): Summarizer {
  const { model, counter, prompt, callTimeoutMs: timeoutMs = CALL_TIMEOUT_MS } = options;
  const system = renderSystem(prompt);
  return {
    id: model.profile.id,
    async summarize(request) {
      if (request.maxTokens < MIN_TOKENS) {
        return { status: 'unfit', why: `${request.maxTokens} tokens are too few for a record` };
      }
      const facts = await readCallFacts(counter, request);
      const maxTokens = request.maxTokens - (await counter.count(`${renderSections(facts)}\n`));
      const asked = request.asked === undefined ? undefined : await counter.clipStart(request.asked, MAX_ASKED_TOKENS);
      const writing = new RecordWriting({ ...options, timeoutMs, system, request: { ...request, asked }, maxTokens });
      const written = await writeHalving(writing);
      if (written.status === 'overflow') return { status: 'refused', why: 'larger than its window in every part' };
      if (written.status !== 'written') return written;
      const text = await renderWithin(counter, request.maxTokens, { sections: written.sections, facts });
      return text === undefined
        ? { status: 'refused', why: `${request.maxTokens} tokens are too few for what it says` }
        : { status: 'written', text, isUpdate: written.isUpdate };
    },
  };
}

/** Undefined where nothing of the model's sections would be left. What code wrote is small, and stays whole. */
async function renderWithin(
  counter: TokenCounter,
  maxTokens: number,
  { sections, facts }: { readonly sections: Sections; readonly facts: Sections },
): Promise<string | undefined> {
  let room = maxTokens - (await counter.count(`${renderSections(facts)}\n`));
  for (;;) {
    const fitted = await fitSections(counter, sections, room);
    if (fitted.size === 0) return undefined;
    const text = renderSections(new Map([...fitted, ...facts]));
    // Sections are counted apart. Side by side they count the same but for a token or two at their seams.
    const excess = (await counter.count(text)) - maxTokens;
    if (excess <= 0) return text;
    room -= excess;
  }
}

/** Within the window as its profile has it; where the provider's is smaller, in smaller parts. */
async function writeHalving(writing: RecordWriting): Promise<Written> {
  let inputTokens = await writing.measureInput();
  for (let halvings = 0; ; halvings += 1) {
    const written = await writing.write(inputTokens);
    if (written.status !== 'overflow' || halvings === MAX_HALVINGS) return written;
    inputTokens = Math.floor(Math.min(inputTokens, written.tokens) / 2);
  }
}
