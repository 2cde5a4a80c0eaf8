import type { Model } from '../../domain/model.ts';
import type { Clock } from '../../domain/ports/clock.ts';
import type { Summarizer, SummaryRequest } from '../../domain/ports/summarizer.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';
import type { Tracing } from '../../domain/ports/tracing.ts';
import { findArgumentLiterals } from '../structural/call-arguments.ts';
import { type CallRecord, renderCall } from '../structural/call-lines.ts';
import { readSequence } from '../structural/sequence-reader.ts';
import { renderSystem } from './instructions.ts';
import { RecordWriting, type Written } from './record-writing.ts';
import { fitSections, renderSections, type Section, type Sections } from './sections.ts';

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

/** Of the cap, at most. */
const ARTIFACTS_SHARE = 0.12;
const EFFECTS_SHARE = 0.25;
const LINE_CHARS = 160;
/** A call that by its name only looks has no effect that must not happen twice: it is told of last. */
const LOOKING =
  /(?:^|[_.-])(?:get|read|list|search|find|view|show|look|fetch|query|grep|glob|ls|cat|describe|check|inspect|think)(?:$|[_.-]|(?=[A-Z]))/;

/**
 * What a record says of calls, from the calls themselves: which paths and ids they named, and each with its outcome. A model
 * that is believed here could make an agent do a thing twice, or believe that it was done.
 */
async function readCallFacts(
  counter: TokenCounter,
  { messages, signal, maxTokens }: Pick<SummaryRequest, 'messages' | 'signal' | 'maxTokens'>,
): Promise<Sections> {
  const { calls } = await readSequence({ messages, signal });
  const newestFirst = calls.toSorted((a, b) => b.position - a.position);
  const artifacts = takeArtifacts(counter, newestFirst, Math.floor(maxTokens * ARTIFACTS_SHARE));
  const effects = takeEffects(counter, newestFirst, Math.floor(maxTokens * EFFECTS_SHARE));
  const sections: [Section, string][] = [
    ['artifacts', artifacts.join(', ')],
    ['effects', effects.join('\n')],
  ];
  return new Map(sections.filter(([, text]) => text !== ''));
}

function takeArtifacts(counter: TokenCounter, calls: readonly CallRecord[], maxTokens: number): string[] {
  return takeFitting(counter, findNamed(calls), maxTokens);
}

/** Paths and ids that calls were given, each once. */
function* findNamed(calls: readonly CallRecord[]): Generator<string> {
  const named = new Set<string>();
  for (const call of calls) {
    for (const { text, kind } of findArgumentLiterals(call.arguments)) {
      if ((kind !== 'path' && kind !== 'id') || named.has(text)) continue;
      named.add(text);
      yield text;
    }
  }
}

function isLooking({ name }: CallRecord): boolean {
  return LOOKING.test(name);
}

/** In the order in which they were made; those that changed something are kept before those that looked. */
function takeEffects(counter: TokenCounter, calls: readonly CallRecord[], maxTokens: number): string[] {
  const ranked = [...calls.filter((call) => !isLooking(call)), ...calls.filter(isLooking)];
  const lines = takeFitting(
    counter,
    ranked.values().map((call) => `- ${renderCall(call, LINE_CHARS)}`),
    maxTokens,
  );
  const told = ranked
    .slice(0, lines.length)
    .map(({ position }, index) => ({ position, line: lines[index] as string }))
    .toSorted((a, b) => a.position - b.position)
    .map(({ line }) => line);
  const left = ranked.length - told.length;
  return left === 0 || told.length === 0 ? told : [...told, `- and ${left} more`];
}

/** The first of them that fit. What comes behind is not even made: a call's line costs a look at all that it returned. */
function takeFitting(counter: TokenCounter, texts: Iterable<string>, maxTokens: number): string[] {
  const taken: string[] = [];
  let left = maxTokens;
  for (const text of texts) {
    left -= counter.countSync(text) + 1;
    if (left < 0) break;
    taken.push(text);
  }
  return taken;
}
