import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Summarizer, SummaryAnswer, SummaryRequest } from '../../domain/ports/summarizer.ts';
import { mergeCallLines, renderCall } from './call-lines.ts';
import { type Candidate, type LineBudget, LineChoice } from './line-choice.ts';
import { KnownLiterals } from './literals.ts';
import { type Line, OUTLINE_SECTIONS, type OutlineSection, renderOutline, sectionNames } from './outline.ts';
import { readSequence, type SequenceReader } from './sequence-reader.ts';
import { clipCharacters, foldLine } from './text.ts';

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

export interface CandidateOptions {
  readonly maxTokens: number;
  /** of all call lines together: decides how much each tells */
  readonly callTokens: number;
  readonly countTokens: (text: string) => Promise<number>;
}

const CALL_WORTH = 1.5;
/** Ids and paths have about three characters a token, prose four to five. */
const CHARS_A_TOKEN = 3.5;
const MIN_CALL_TOKENS = 20;
/** Line end, name, an argument. */
const SHORTEST_CALL_TOKENS = 4;
const MIN_LINE_TOKENS = 12;
/** A line end and what stands before it: more lines than fit at this size are not looked at. */
const SHORTEST_LINE_TOKENS = 2;
const HEADING_TOKENS = 4;
/** A line that is no call takes at most this share of the cap. */
const LINE_SHARE = 0.12;

/** Everything that could stand in the summary, counted; in the order of the text, literals by their weight. */
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
    const told = new Set<string>();
    for (const line of selectWorthiest(own, maxLines)) {
      const clipped = await clipLine(line.text, limit, countTokens);
      const isCutLiteral = section === 'literals' && clipped.text !== line.text;
      if (isCutLiteral || told.has(clipped.text)) continue;
      told.add(clipped.text);
      candidates.push({ ...line, ...clipped, literals: reader.ledger.namedIn(clipped.text) });
    }
  }
  return candidates;
}

/** The more calls there are, the shorter their lines; of more than could stand there only the newest, in their order. */
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

/** The lines of a section, each once, where it stood last. */
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

/** The line with its tokens, clipped until it has at most `maxTokens`. */
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
