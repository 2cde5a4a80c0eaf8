import type { Candidate } from './budget.ts';
import { mergeCallLines, renderCall } from './call-lines.ts';
import { type Line, type Section, sectionNames } from './outline.ts';
import type { SequenceReader } from './sequence-reader.ts';
import { clipText } from './text.ts';

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
const MIN_LINE_TOKENS = 12;
const HEADING_TOKENS = 4;
/** A line that is no call takes at most this share of the cap. */
const LINE_SHARE = 0.12;
/** More lines of one section are never looked at: none of them would be chosen. */
const MAX_LINES = 2_000;

/** Everything that could stand in the summary, counted; in the order of the text, literals by their weight. */
export async function findCandidates(
  reader: SequenceReader,
  { maxTokens, callTokens, countTokens }: CandidateOptions,
): Promise<Candidate[]> {
  const lines = [...reader.lines, ...renderCalls(reader, callTokens), ...literalLines(reader)];
  const lineTokens = Math.max(MIN_LINE_TOKENS, Math.floor(maxTokens * LINE_SHARE));
  const candidates: Candidate[] = [];
  for (const section of sectionNames) {
    const limit = section === 'calls' ? Math.max(MIN_LINE_TOKENS, callTokens - HEADING_TOKENS) : lineTokens;
    for (const line of selectWorthiest(mergeLines(lines, section))) {
      const clipped = await clipLine(line.text, limit, countTokens);
      const isWhole = section !== 'literals' || clipped.text === line.text;
      if (isWhole) candidates.push({ ...line, ...clipped, literals: reader.ledger.namedIn(clipped.text) });
    }
  }
  return candidates;
}

/** The more calls there are, the shorter their lines. */
function renderCalls({ calls }: SequenceReader, callTokens: number): Line[] {
  const tokens = Math.max(MIN_CALL_TOKENS, callTokens / Math.max(1, calls.length));
  const newest = Math.max(1, ...calls.map((call) => call.position));
  return calls.map((call) => ({
    section: 'calls',
    text: renderCall(call, Math.floor(tokens * CHARS_A_TOKEN)),
    position: call.position,
    worth: CALL_WORTH + call.position / newest,
  }));
}

function literalLines({ ledger }: SequenceReader): Line[] {
  return ledger
    .heaviest(MAX_LINES)
    .map((text) => ({ section: 'literals', text, position: ledger.positionOf(text), worth: 0 }));
}

/** The lines of a section, each once; of equal lines the newest stays. */
function mergeLines(lines: readonly Line[], section: Section): Line[] {
  const own = lines.filter((line) => line.section === section);
  if (section === 'calls') return mergeCallLines(own);
  const newest = new Map<string, Line>();
  for (const line of own) {
    newest.delete(line.text);
    newest.set(line.text, line);
  }
  return [...newest.values()];
}

function selectWorthiest(lines: readonly Line[]): readonly Line[] {
  if (lines.length <= MAX_LINES) return lines;
  const worthiest = new Set(lines.toSorted((a, b) => b.worth - a.worth).slice(0, MAX_LINES));
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
    text = clipText(text, Math.min(text.length - 1, Math.floor((text.length * maxTokens) / tokens)));
    tokens = await countTokens(`${text}\n`);
  }
  return { text, tokens };
}
