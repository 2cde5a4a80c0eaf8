import type { SourceLog } from './log.ts';
import { type Grade, gradeAll, type Topic } from './topic.ts';
import { isSaidTogether, wordsOf } from './wording.ts';

/** Words by which users say how something must be done. */
const WISH_WORDS = [
  "must|never|always|do not|don't|dont|cannot|can't|only|should(?:n't)?|make sure|ensure|please|instead|without|avoid|prefer",
  'rather|no need|not to|want(?: to| you)?|need(?:s)? to|ha(?:s|ve) to|require[sd]?',
  'nicht|immer|nur|bitte|muss|soll|nunca|siempre|s[oó]lo|por favor|debe|quiero|necesito|sin',
].join('|');
const WISH = new RegExp(String.raw`\b(?:${WISH_WORDS})\b|不要|必须|只|请|应该|ないで|ください|必ず|だけ|たい`, 'iu');
const SENTENCE_END = /(?<=[.!?。！？])\s+|\n+/;
const DATA = /^[{<[]/;
const MIN_WORDS = 3;
const MAX_CHARS = 400;
/** A long conversation has thousands of sentences with such words, so some are asked, evenly spread. */
const MAX_RULES = 60;
/** A rule is kept if a stretch of twice its length, plus these characters, has this share of its words. */
const EXTRA_REACH = 80;
const SHARE = 0.75;

interface Rule {
  readonly words: readonly string[];
  readonly length: number;
}

/** Sentences of users that say how something must be done. */
export function findRules({ messages }: SourceLog): Topic | undefined {
  const rules = spread(listRules(messages));
  if (rules.length === 0) return undefined;
  const grade = (lower: string): Grade =>
    gradeAll(
      rules.map(({ words, length }) =>
        isSaidTogether(words, lower, { reach: 2 * length + EXTRA_REACH, share: SHARE }) ? 'right' : undefined,
      ),
    );
  const text = 'Quote every rule, wish and prohibition that the user gave, one per line, in the words of the user.';
  return {
    grade: ({ lower }) => ({ rules: grade(lower) }),
    asked: [{ kinds: ['rules'], text, grade: (answer) => grade(answer.toLowerCase()) }],
  };
}

function listRules(messages: SourceLog['messages']): Rule[] {
  const rules = new Map<string, Rule>();
  for (const { role, content } of messages) {
    if (role !== 'user') continue;
    for (const sentence of content.split(SENTENCE_END).map((part) => part.trim())) {
      if (sentence.length > MAX_CHARS || DATA.test(sentence) || !WISH.test(sentence) || rules.has(sentence)) continue;
      const words = wordsOf(sentence);
      if (words.length >= MIN_WORDS) rules.set(sentence, { words, length: sentence.length });
    }
  }
  return [...rules.values()];
}

function spread(rules: readonly Rule[]): readonly Rule[] {
  const step = rules.length / MAX_RULES;
  return step <= 1 ? rules : rules.filter((_, index) => Math.floor(index % step) === 0).slice(0, MAX_RULES);
}
