import { readOutcome } from '../../../src/compaction/evidence/outcome.ts';
import type { QualityPoint } from '../quality/point.ts';
import {
  answersIn,
  besideOf,
  hash,
  languageOf,
  pickTopic,
  type Question,
  recordsOf,
  roundsOf,
  type Source,
  sentencesOf,
  spaced,
  topicWords,
  type Wording,
} from './question.ts';

/** Asks about a source, and about what follows it. */
export type Form = (source: Source, point: QualityPoint) => Question[];

const MAX_ANSWER_CHARS = 40;
const MIN_ANSWER_CHARS = 3;

export const say = (wording: Wording, parts: Readonly<Record<string, string>>): string =>
  wording[languageOf(Object.values(parts).join(' '))](parts);

const TARGET: Wording = {
  en: ({ topic }) => `which one did I use for ${topic}?`,
  es: ({ topic }) => `¿cuál usé para ${topic}?`,
  zh: ({ topic }) => `我为${topic}用了哪个？`,
  ja: ({ topic }) => `${topic}にはどれを使いましたか`,
};
const WORKED: Wording = {
  en: ({ name, topic }) => `did ${name} ${topic} work`,
  es: ({ name, topic }) => `¿funcionó ${name} ${topic}?`,
  zh: ({ name, topic }) => `${name} ${topic} 成功了吗`,
  ja: ({ name, topic }) => `${name} ${topic} は成功しましたか`,
};
const FAILED: Wording = {
  en: ({ topic }) => `which error came from ${topic}`,
  es: ({ topic }) => `¿qué error dio ${topic}?`,
  zh: ({ topic }) => `${topic} 出了什么错误`,
  ja: ({ topic }) => `${topic} のエラーは何でしたか`,
};
const VALUE: Wording = {
  en: ({ key, subject }) => `what was the ${key} of ${subject}?`,
  es: ({ key, subject }) => `¿cuál era ${key} de ${subject}?`,
  zh: ({ key, subject }) => `${subject}的${key}是什么`,
  ja: ({ key, subject }) => `${subject}の${key}は何でしたか`,
};
const SAID: Wording = {
  en: ({ topic }) => `what did the user say about ${topic}?`,
  es: ({ topic }) => `¿qué dijo el usuario sobre ${topic}?`,
  zh: ({ topic }) => `用户关于${topic}说了什么`,
  ja: ({ topic }) => `ユーザーは${topic}について何と言いましたか`,
};
const SEEN: Wording = {
  en: ({ topic }) => `in which place did I see ${topic}`,
  es: ({ topic }) => `¿dónde vi ${topic}?`,
  zh: ({ topic }) => `我在哪里看到${topic}`,
  ja: ({ topic }) => `${topic}はどこで見ましたか`,
};

export const isBent = (text: string): boolean => hash(text) % 2 === 0;

/** Outcome of a call as the answer, and the words of the call beside it. */
export function outcomeOf({ name, values, result }: ReturnType<typeof roundsOf>[number]) {
  const { line, status } = readOutcome(result);
  const answer = line.slice(0, MAX_ANSWER_CHARS).trim();
  const beside = [name, ...topicWords(values.join(' ').slice(0, 200)).slice(0, 6)];
  return { answer, beside, hasFailed: status !== 'ok' };
}

const target: Form = (source) =>
  roundsOf(source).flatMap(({ statement, values, result }) => {
    const [answer] = values.flatMap((value) => (value.includes('\n') ? [] : answersIn(value)));
    if (answer === undefined || topicWords(statement).length < 4) return [];
    const topic = pickTopic(statement, 4, answer, isBent(statement));
    return [
      {
        form: 'target',
        query: say(TARGET, { topic }),
        answer,
        beside: [...topicWords(statement), ...besideOf(result.content, answer)],
      },
    ];
  });

const outcome: Form = (source) =>
  roundsOf(source).map((round) => {
    const { answer, beside } = outcomeOf(round);
    const topic = pickTopic(round.values.join(' ').slice(0, 160), 3, answer);
    return { form: 'outcome', query: say(WORKED, { name: spaced(round.name), topic }), answer, beside };
  });

const failure: Form = (source) =>
  roundsOf(source).flatMap((round) => {
    const { answer, beside, hasFailed } = outcomeOf(round);
    const topic = pickTopic(round.values.join(' ').slice(0, 160), 3, answer, true);
    return hasFailed && topic !== '' ? [{ form: 'failure', query: say(FAILED, { topic }), answer, beside }] : [];
  });

const value: Form = (source) =>
  recordsOf(source).flatMap(({ text, values }) => {
    const [subject] = values.filter(([, own]) => own.length >= MIN_ANSWER_CHARS && own.length <= MAX_ANSWER_CHARS);
    const others = values.filter(
      ([key, own]) => key !== subject?.[0] && own.length >= MIN_ANSWER_CHARS && own.length <= MAX_ANSWER_CHARS,
    );
    const [key, answer] = others[hash(text) % Math.max(1, others.length)] ?? [];
    if (subject === undefined || key === undefined || answer === undefined) return [];
    const query = say(VALUE, { key: spaced(key), subject: subject[1] });
    return [{ form: 'value', query, answer, beside: topicWords(`${subject[1]} ${spaced(key)}`) }];
  });

const said: Form = ({ messages }) =>
  messages.flatMap(({ role, content }) =>
    role !== 'user'
      ? []
      : sentencesOf(content.slice(0, 4_000)).flatMap((sentence) => {
          const answers = answersIn(sentence);
          const answer = answers[hash(sentence) % Math.max(1, answers.length)];
          if (answer === undefined || topicWords(sentence).length < 4) return [];
          const topic = pickTopic(sentence, 3, answer, isBent(sentence));
          return [{ form: 'said', query: say(SAID, { topic }), answer, beside: besideOf(sentence, answer) }];
        }),
  );

const seen: Form = ({ messages }) =>
  messages.flatMap(({ role, content }) =>
    role === 'user'
      ? []
      : content
          .slice(0, 20_000)
          .split('\n')
          .flatMap((line, index, lines) => {
            const near = `${lines[index - 1] ?? ''} ${line} ${lines[index + 1] ?? ''}`;
            const answers = line.length > 400 ? [] : answersIn(line);
            const answer = answers[hash(line) % Math.max(1, answers.length)];
            if (answer === undefined || topicWords(near).length < 5) return [];
            return [
              {
                form: 'seen',
                query: say(SEEN, { topic: pickTopic(near, 3, answer, isBent(line)) }),
                answer,
                beside: besideOf(content, answer),
              },
            ];
          }),
  );

/** Asks with the words of the statement in which the agent used the answer later. */
const use: Form = (source, { recording: { messages }, cut, needles }) =>
  needles.flatMap(({ text: answer }) => {
    const at = messages
      .slice(cut)
      .find(
        ({ role, content, toolCalls }) => role === 'assistant' && JSON.stringify([content, toolCalls]).includes(answer),
      );
    const statement = at?.content.slice(0, 600) ?? '';
    const from = source.messages.find((_, index) => source.texts[index]?.includes(answer));
    if (from === undefined || topicWords(statement).length < 4) return [];
    return [
      {
        form: 'use',
        query: pickTopic(statement, 8, answer),
        answer,
        beside: besideOf(source.texts[source.messages.indexOf(from)] ?? '', answer),
      },
    ];
  });

/** Forms of questions that the search was tuned with. */
export const TUNED_FORMS: readonly Form[] = [target, outcome, failure, value, said, seen, use];
