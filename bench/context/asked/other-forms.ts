import { type Form, isBent, outcomeOf, say } from './forms.ts';
import {
  answersIn,
  besideOf,
  hash,
  pickTopic,
  recordsOf,
  roundsOf,
  sentencesOf,
  spaced,
  topicWords,
  type Wording,
} from './question.ts';

const COMMAND: Wording = {
  en: ({ topic }) => `the call that returned ${topic}`,
  es: ({ topic }) => `la llamada que devolvió ${topic}`,
  zh: ({ topic }) => `返回${topic}的调用`,
  ja: ({ topic }) => `${topic}を返した呼び出し`,
};
const DECIDED: Wording = {
  en: ({ topic }) => `my conclusion on ${topic} earlier`,
  es: ({ topic }) => `mi conclusión sobre ${topic}`,
  zh: ({ topic }) => `之前我对${topic}的结论`,
  ja: ({ topic }) => `以前の${topic}についての結論`,
};
const WISH: Wording = {
  en: ({ topic }) => `instructions and wishes regarding ${topic}`,
  es: ({ topic }) => `instrucciones y deseos respecto a ${topic}`,
  zh: ({ topic }) => `有关${topic}的要求`,
  ja: ({ topic }) => `${topic}に関する要望`,
};
const AGAIN: Wording = {
  en: ({ topic }) => `I need the result of the ${topic} step again`,
  es: ({ topic }) => `necesito otra vez el resultado de ${topic}`,
  zh: ({ topic }) => `再看一次${topic}的结果`,
  ja: ({ topic }) => `${topic}の結果をもう一度`,
};

const MAX_ANSWER_CHARS = 40;

/** Asks for a call by words of its result. */
const command: Form = (source) =>
  roundsOf(source).flatMap(({ values, result }) => {
    const answer = values
      .map((value) => (value.split('\n')[0] ?? '').slice(0, MAX_ANSWER_CHARS).trim())
      .find((text) => text.length > 4);
    const line = sentencesOf(result.content.slice(0, 2_000)).find((one) => topicWords(one).length >= 3);
    if (answer === undefined || line === undefined) return [];
    return [{ form: 'command', query: say(COMMAND, { topic: pickTopic(line, 3, answer) }), answer, beside: [] }];
  });

const conclusion: Form = ({ messages }) =>
  messages.flatMap(({ role, content }) =>
    role !== 'assistant'
      ? []
      : sentencesOf(content.slice(0, 4_000)).flatMap((sentence) => {
          const answers = answersIn(sentence);
          const answer = answers[hash(sentence) % Math.max(1, answers.length)];
          if (answer === undefined || topicWords(sentence).length < 4) return [];
          return [
            {
              form: 'conclusion',
              query: say(DECIDED, { topic: pickTopic(sentence, 3, answer, isBent(content)) }),
              answer,
              beside: besideOf(sentence, answer),
            },
          ];
        }),
  );

const wish: Form = ({ messages }) =>
  messages.flatMap(({ role, content }) => {
    const sentences = role === 'user' ? sentencesOf(content.slice(0, 4_000)) : [];
    return sentences.flatMap((sentence, index) => {
      const [answer] = answersIn(sentence);
      const before = `${sentences[index - 1] ?? ''} ${sentence}`;
      if (answer === undefined || topicWords(before).length < 3) return [];
      return [
        {
          form: 'wish',
          query: say(WISH, { topic: pickTopic(before, 2, answer, !isBent(sentence)) }),
          answer,
          beside: besideOf(sentence, answer),
        },
      ];
    });
  });

/** Only words, as a person types into a search field. */
const keywords: Form = (source) =>
  recordsOf(source).flatMap(({ text, values }) => {
    const usable = values.filter(([, own]) => own.length >= 3 && own.length <= MAX_ANSWER_CHARS);
    const [key, answer] = usable[hash(text) % Math.max(1, usable.length)] ?? [];
    const subject = usable.findLast(([other]) => other !== key)?.[1];
    if (key === undefined || answer === undefined || subject === undefined) return [];
    return [
      { form: 'keywords', query: `${subject} ${spaced(key)}`, answer, beside: topicWords(`${subject} ${spaced(key)}`) },
    ];
  });

/** Asks for the outcome by the words with which the agent announced the call. */
const step: Form = (source) =>
  roundsOf(source).flatMap((round) => {
    const { answer, beside } = outcomeOf(round);
    if (topicWords(round.statement).length < 3) return [];
    return [
      {
        form: 'step',
        query: say(AGAIN, { topic: pickTopic(round.statement, 3, answer, isBent(answer)) }),
        answer,
        beside,
      },
    ];
  });

/** Asks with the request that the agent answers, for what the agent then uses. */
const request: Form = (source, { recording: { messages }, cut, needles }) =>
  needles.flatMap(({ text: answer }) => {
    const at = messages.findIndex(
      ({ role, content, toolCalls }, index) =>
        index >= cut && role === 'assistant' && JSON.stringify([content, toolCalls]).includes(answer),
    );
    const asked =
      messages
        .slice(0, at)
        .findLast(({ role }) => role === 'user')
        ?.content.slice(0, 600) ?? '';
    const from = source.texts.find((text) => text.includes(answer));
    if (from === undefined || topicWords(asked).length < 3) return [];
    return [{ form: 'request', query: pickTopic(asked, 8, answer), answer, beside: besideOf(from, answer) }];
  });

/** Forms of questions that were not looked at while the search was tuned. */
export const OTHER_FORMS: readonly Form[] = [command, conclusion, wish, keywords, step, request];
