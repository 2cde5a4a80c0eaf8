import type { Message } from '../../../../src/domain/message.ts';
import type { SourceLog } from './log.ts';
import { type AnswerKind, type AskedQuestion, gradeOne, type Topic } from './topic.ts';
import { shareSaid, wordsOf } from './wording.ts';

/** Characters of a message that count. The end of a long message is often a file. */
const REQUEST_CHARS = 1_500;
const ANSWER_CHARS = 600;
const MIN_REQUEST_CHARS = 9;
const MIN_ANSWER_CHARS = 21;

interface Statement {
  readonly kind: AnswerKind;
  readonly question: string;
  readonly words: readonly string[];
  /** Share of the words that must be there. */
  readonly share: number;
}

/** The first request, the last request, and the last statement of the agent. */
export function findStatements({ messages }: SourceLog): Topic {
  const by = (role: Message['role'], minChars: number): Message[] =>
    messages.filter((message) => message.role === role && message.content.trim().length >= minChars);
  const requests = by('user', MIN_REQUEST_CHARS);
  const [first] = requests;
  const statements = [
    ...(first === undefined ? [] : [stateRequest('goal', 'first', first)]),
    ...(requests.length < 2 ? [] : [stateRequest('ask', 'last', requests.at(-1) as Message)]),
    ...by('assistant', MIN_ANSWER_CHARS).slice(-1).map(stateAnswer),
  ].filter(({ words }) => words.length > 0);
  const isSaid = ({ words, share }: Statement, lower: string): boolean => shareSaid(words, lower) >= share;
  return {
    grade: ({ lower }) => Object.fromEntries(statements.map((one) => [one.kind, gradeOne(isSaid(one, lower))])),
    asked: statements.map(
      (one): AskedQuestion => ({
        kinds: [one.kind],
        text: one.question,
        grade: (answer) => gradeOne(isSaid(one, answer.toLowerCase())),
      }),
    ),
  };
}

function stateRequest(kind: 'goal' | 'ask', place: 'first' | 'last', { content }: Message): Statement {
  const words = wordsOf(content.slice(0, REQUEST_CHARS));
  return { kind, words, share: kind === 'goal' ? 0.6 : 0.7, question: `Quote the ${place} request of the user.` };
}

function stateAnswer({ content }: Message): Statement {
  const words = wordsOf(content.slice(0, ANSWER_CHARS));
  return { kind: 'said', words, share: 0.7, question: 'Quote the beginning of the last statement of the assistant.' };
}
