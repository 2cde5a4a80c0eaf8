import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Candidate } from './budget.ts';
import { mergeCallLines, renderCall } from './call-lines.ts';
import { type Line, type OutlineSection, sectionNames } from './outline.ts';
import type { SequenceReader } from './sequence-reader.ts';
import { clipCharacters, foldLine } from './text.ts';

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
export async function findCandidates(
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
