import { findWhole, holds } from '../../../src/evaluation/quality/searchable-text.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { compactOnce, openRecall } from '../ladder-rows.ts';
import { plantFacts, writeFacts } from '../planted.ts';
import { type BenchRecording, type Family, familyOf, preparePoint } from '../points.ts';
import type { Corpus } from '../quality/corpus.ts';
import { findCuts } from '../quality/point.ts';
import { renderContext, sumTokens, tokensOf } from '../row.ts';
import { TUNED_FORMS } from './forms.ts';
import { OTHER_FORMS } from './other-forms.ts';
import { askPlanted } from './planted-questions.ts';
import { hash, type Question, readSource } from './question.ts';

export interface Answered extends Question {
  readonly conversation: string;
  readonly family: Family;
  readonly isOther: boolean;
  readonly limit: number;
  readonly isFound: boolean;
  /** The same for the answer itself as the query, which the agent does not know. */
  readonly isFoundByName: boolean;
  readonly tokens: number;
  readonly text: string;
}

const PER_FORM = 3;
const BUDGET_SHARE = 0.2;
/** Maximum tokens of an answer that the tool would give. Each question asks for less. */
const MOST_TOKENS = 8_000;
/** Messages of the source with an answer. A text in more of them is no answer to one question. */
const MAX_PLACES = 4;
const counter = await loadTokenCounter('o200k_base');

/** Asks the tool about what the last cut of a recording archived. The context has 20 % of the tokens. */
export async function* askRecording(
  recording: BenchRecording,
  { corpus, seed, limits }: { readonly corpus: Corpus; readonly seed: number; readonly limits: readonly number[] },
): AsyncGenerator<Answered> {
  const sizes = recording.messages.map((message) => (message.role === 'system' ? 0 : tokensOf(message)));
  const cut = findCuts(recording.messages, sizes).at(-1);
  if (cut === undefined) return;
  const facts = writeFacts(seed);
  const planted = plantFacts(
    recording.messages.slice(0, cut).filter(({ role }) => role !== 'system'),
    facts,
  );
  const whole = { ...recording, messages: [...planted, ...recording.messages.slice(cut)] };
  const { point } = preparePoint(whole, planted.length, corpus);
  const compacted = await compactOnce({}, planted, Math.floor(BUDGET_SHARE * sumTokens(planted)));
  if (compacted === undefined) return;
  const ask = openRecall(compacted, MOST_TOKENS);
  const context = renderContext(compacted.messages);
  const source = readSource(planted);
  for (const isOther of [false, true]) {
    const written = (isOther ? OTHER_FORMS : TUNED_FORMS).map((form) => form(source, point));
    for (const questions of [...written, askPlanted(seed, facts, isOther)]) {
      for (const question of choose(questions, context, source.countOf)) {
        for (const limit of limits) {
          const text = await ask(question.query, limit);
          const isFoundByName = isAnswered(await ask(question.answer, limit), question);
          const tokens = await counter.count(text);
          const isFound = isAnswered(text, question);
          const family = familyOf(recording.group);
          yield {
            ...question,
            conversation: recording.id,
            family,
            isOther,
            limit,
            isFound,
            isFoundByName,
            tokens,
            text,
          };
        }
      }
    }
  }
}

/** Chooses questions whose answer left the context, and stands in few messages of the source. */
function choose(questions: readonly Question[], context: string, countOf: (text: string) => number): Question[] {
  const chosen: Question[] = [];
  for (const question of questions.toSorted((one, other) => hash(one.query) - hash(other.query))) {
    const { query, answer } = question;
    if (chosen.length === PER_FORM) break;
    if (query.trim() === '' || answer.length < 2 || query.toLowerCase().includes(answer.toLowerCase())) continue;
    if (holds(context, answer) || countOf(answer) > MAX_PLACES || countOf(answer) === 0) continue;
    if (chosen.every((other) => other.answer !== answer)) chosen.push(question);
  }
  return chosen;
}

const REACH = 400;
const MIN_BESIDE = 2;

/** An answer counts if it stands beside two of the words beside it in the log. */
function isAnswered(text: string, { answer, beside }: Question): boolean {
  const needed = Math.min(MIN_BESIDE, beside.length);
  return [...findWhole(text, answer)].some((at) => {
    const near = text.slice(Math.max(0, at - REACH), at + answer.length + REACH).toLowerCase();
    return beside.filter((word) => near.includes(word.toLowerCase())).length >= needed;
  });
}
