import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Summarizer, SummaryAnswer, SummaryRequest } from '../../domain/ports/summarizer.ts';
import { mergeCallLines, renderCall } from './call-lines.ts';
import { type Candidate, type LineBudget, LineChoice } from './line-choice.ts';
import { KnownLiterals } from './literals.ts';
import { type Line, OUTLINE_SECTIONS, type OutlineSection, renderOutline, sectionNames } from './outline.ts';
import { readSequence, type SequenceReader } from './sequence-reader.ts';
import { clipCharacters, foldLine } from './text.ts';

export interface StructuralSummarizerOptions {
  readonly countTokens: (text: string) => Promise<number>;
}

/** Smallest token limit of a summary: enough for one heading and one line. */
const MIN_TOKENS = 24;
/** A summary that fills a smaller share of its token limit is written again, with longer call lines. */
const WELL_FILLED = 0.85;
const MAX_ATTEMPTS = 3;

/**
 * Summarizes without a model: requests, calls with arguments and outcomes, files and ids, errors, decisions, open ends.
 * The same request gives the same text. Refuses if `maxTokens` is below 24, or if no summary would be smaller than the
 * sequence.
 */
export function createStructuralSummarizer({ countTokens }: StructuralSummarizerOptions): Summarizer {
  const literals = new KnownLiterals();
  return {
    id: 'structural',
    async summarize(request) {
      const sourceTokens = await countUpTo(countTokens, request, request.maxTokens);
      const maxTokens = Math.min(request.maxTokens, sourceTokens - 1);
      if (maxTokens < MIN_TOKENS) return refuse(`${Math.max(0, maxTokens)} tokens are too few for a summary`);
      const reader = await readSequence(request, literals);
      return await writeSummary(countTokens, reader, maxTokens);
    },
  };
}

type CountTokens = StructuralSummarizerOptions['countTokens'];

/** Counts the tokens of a sequence, and stops once they exceed `limit`. */
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
  return fullest.text === '' ? refuse('no line fits') : { status: 'written', text: fullest.text };
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
    // Joined lines may have more tokens than the same lines counted separately. Then one line is removed.
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

export interface CandidateOptions {
  readonly maxTokens: number;
  /** Tokens of all call lines together. They set the length of each line. */
  readonly callTokens: number;
  readonly countTokens: (text: string) => Promise<number>;
}

const CALL_WORTH = 1.5;
/** Characters per token of a call line: about three in ids and paths, four to five in prose. */
const CHARS_A_TOKEN = 3.5;
const MIN_CALL_TOKENS = 20;
/** Tokens of the shortest call line: name, one argument and line end. */
const SHORTEST_CALL_TOKENS = 4;
const MIN_LINE_TOKENS = 12;
/** Tokens of the shortest line with its line end. They bound the number of lines that are considered. */
const SHORTEST_LINE_TOKENS = 2;
const HEADING_TOKENS = 4;
/** Largest share of the summary's token limit for one line that is not a call. */
const LINE_SHARE = 0.12;

/**
 * Returns all lines that may enter the summary, with their token counts, in the order of the text. Literals are ordered
 * by weight.
 */
async function findCandidates(
  reader: SequenceReader,
  { maxTokens, callTokens, countTokens }: CandidateOptions,
): Promise<Candidate[]> {
  const lines = [...reader.lines];
  await nextTurn();
  lines.push(...renderCalls(reader, callTokens));
  const lineTokens = Math.max(MIN_LINE_TOKENS, Math.floor(maxTokens * LINE_SHARE));
  const maxLines = Math.ceil(maxTokens / SHORTEST_LINE_TOKENS);
  const candidates: Candidate[] = [];
  for (const section of sectionNames) {
    const limit = section === 'calls' ? Math.max(MIN_LINE_TOKENS, callTokens - HEADING_TOKENS) : lineTokens;
    await nextTurn();
    const own = section === 'literals' ? literalLines(reader, maxLines) : mergeLines(lines, section);
    const rendered = new Set<string>();
    for (const line of selectWorthiest(own, maxLines)) {
      const clipped = await clipLine(line.text, limit, countTokens);
      const isCutLiteral = section === 'literals' && clipped.text !== line.text;
      if (isCutLiteral || rendered.has(clipped.text)) continue;
      rendered.add(clipped.text);
      candidates.push({ ...line, ...clipped, literals: reader.ledger.namedIn(clipped.text) });
    }
  }
  return candidates;
}

/** Shortens call lines as their number grows. If not all calls fit, only the newest are rendered, in their order. */
function renderCalls({ calls }: SequenceReader, callTokens: number): Line[] {
  const tokens = Math.max(MIN_CALL_TOKENS, callTokens / Math.max(1, calls.length));
  const byAge = calls.map(({ position }) => position).toSorted((a, b) => b - a);
  const newest = Math.max(1, byAge[0] ?? 0);
  const oldest = byAge[Math.ceil(callTokens / SHORTEST_CALL_TOKENS)] ?? -1;
  return calls
    .filter(({ position }) => position > oldest)
    .map((call) => ({
      section: 'calls',
      text: renderCall(call, Math.floor(tokens * CHARS_A_TOKEN)),
      worth: CALL_WORTH + call.position / newest,
    }));
}

function literalLines({ ledger }: SequenceReader, maxLines: number): Line[] {
  return ledger
    .heaviest(maxLines)
    .filter((text) => foldLine(text) === text)
    .map((text) => ({ section: 'literals', text, worth: 0 }));
}

/** Returns the lines of a section, a repeated line only at its last place. */
function mergeLines(lines: readonly Line[], section: OutlineSection): Line[] {
  const own = lines.filter((line) => line.section === section && line.text !== '');
  if (section === 'calls') return mergeCallLines(own);
  const merged = new Map<string, Line>();
  for (const line of own) {
    const worth = Math.max(line.worth, merged.get(line.text)?.worth ?? 0);
    merged.delete(line.text);
    merged.set(line.text, { ...line, worth });
  }
  return [...merged.values()];
}

function selectWorthiest(lines: readonly Line[], maxLines: number): readonly Line[] {
  if (lines.length <= maxLines) return lines;
  const worthiest = new Set(lines.toSorted((a, b) => b.worth - a.worth).slice(0, maxLines));
  return lines.filter((line) => worthiest.has(line));
}

async function clipLine(
  line: string,
  maxTokens: number,
  countTokens: CandidateOptions['countTokens'],
): Promise<{ text: string; tokens: number }> {
  let text = line;
  let tokens = await countTokens(`${text}\n`);
  while (tokens > maxTokens && text.length > 1) {
    text = clipCharacters(text, Math.min(text.length - 1, Math.floor((text.length * maxTokens) / tokens)));
    tokens = await countTokens(`${text}\n`);
  }
  return { text, tokens };
}
