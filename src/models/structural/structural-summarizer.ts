import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Summarizer, SummaryAnswer, SummaryRequest } from '../../domain/ports/summarizer.ts';
import { type Candidate, type LineBudget, LineChoice } from './budget.ts';
import { findCandidates } from './candidates.ts';
import { KnownLiterals } from './known-literals.ts';
import { OUTLINE_SECTIONS, type OutlineSection, renderOutline, sectionNames } from './outline.ts';
import { readSequence } from './read-sequence.ts';
import type { SequenceReader } from './sequence-reader.ts';

export interface StructuralSummarizerOptions {
  /** exact, as the model's tokenizer counts */
  readonly countTokens: (text: string) => Promise<number>;
}

/** Below this a heading and a line hardly fit. */
const MIN_TOKENS = 24;
/** A summary that fills less of its cap is written again, with more of what the calls returned. */
const WELL_FILLED = 0.85;
const MAX_ATTEMPTS = 3;

/**
 * Summarizes without a model: what was asked, each call with its arguments and outcome, files and ids, errors, decisions,
 * open ends. The same request gives the same text. Refused where `maxTokens` is below 24 or the sequence says nothing that
 * would be smaller than itself.
 */
export function createStructuralSummarizer({ countTokens }: StructuralSummarizerOptions): Summarizer {
  const literals = new KnownLiterals();
  return {
    id: 'structural',
    async summarize(request) {
      const sourceTokens = await countUpTo(countTokens, request, request.maxTokens);
      const maxTokens = Math.min(request.maxTokens, sourceTokens - 1);
      if (maxTokens < MIN_TOKENS) return refuse(`${Math.max(0, maxTokens)} tokens are too few to say anything`);
      const reader = await readSequence(request, literals);
      return await writeSummary(countTokens, reader, maxTokens);
    },
  };
}

type CountTokens = StructuralSummarizerOptions['countTokens'];

/** Tokens of the source's texts, but counted no further than just over `limit`. */
async function countUpTo(countTokens: CountTokens, request: SummaryRequest, limit: number): Promise<number> {
  let tokens = 0;
  for (const { content, toolCalls = [] } of request.messages) {
    if (tokens > limit) break;
    tokens += await countTokens(content + toolCalls.map((call) => call.name + call.arguments).join(''));
  }
  return tokens;
}

async function writeSummary(
  countTokens: CountTokens,
  reader: SequenceReader,
  maxTokens: number,
): Promise<SummaryAnswer> {
  const headingTokens = await countHeadings(countTokens);
  const shareTokens = mapSections((section) => Math.floor(maxTokens * OUTLINE_SECTIONS[section].share));
  let fullest = { text: '', tokens: 0 };
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const candidates = await findCandidates(reader, { maxTokens, callTokens: shareTokens.calls, countTokens });
    const budget = { maxTokens, shareTokens, headingTokens, weightOf: (text: string) => reader.ledger.weightOf(text) };
    const written = await writeText(countTokens, candidates, budget);
    if (written.tokens > fullest.tokens) fullest = written;
    if (fullest.tokens >= maxTokens * WELL_FILLED) break;
    shareTokens.calls += maxTokens - written.tokens;
  }
  return fullest.text === '' ? refuse('nothing to tell') : { status: 'written', text: fullest.text };
}

function refuse(why: string): SummaryAnswer {
  return { status: 'refused', why };
}

async function writeText(
  countTokens: CountTokens,
  candidates: readonly Candidate[],
  budget: LineBudget,
): Promise<{ text: string; tokens: number }> {
  const choice = new LineChoice(budget);
  await nextTurn();
  choice.chooseAll(candidates);
  for (;;) {
    const chosen = new Set(choice.lines);
    const text = renderOutline(candidates.filter((line) => chosen.has(line)));
    // Lines were counted alone. Side by side they count the same or less in nearly all text; where they do not, one goes.
    const tokens = await countTokens(text);
    if (tokens <= budget.maxTokens) return { text, tokens };
    choice.dropLeast();
  }
}

async function countHeadings(countTokens: CountTokens): Promise<Record<OutlineSection, number>> {
  const tokens = await Promise.all(
    sectionNames.map((section) => countTokens(`${OUTLINE_SECTIONS[section].heading}\n`)),
  );
  return mapSections((_, index) => tokens[index] as number);
}

function mapSections(valueOf: (section: OutlineSection, index: number) => number): Record<OutlineSection, number> {
  return Object.fromEntries(sectionNames.map((section, index) => [section, valueOf(section, index)])) as Record<
    OutlineSection,
    number
  >;
}
