import type { SummaryRequest } from '../../domain/ports/summarizer.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';
import { findArgumentLiterals } from '../structural/call-arguments.ts';
import { type CallRecord, renderCall } from '../structural/call-lines.ts';
import { readSequence } from '../structural/read-sequence.ts';
import type { Section, Sections } from './sections.ts';

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
export async function readCallFacts(
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
