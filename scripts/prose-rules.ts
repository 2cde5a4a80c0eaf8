/**
 * Rules of writing that a program can check. Each sentence is checked alone. Code and placeholders count as one word
 * each.
 */

export interface ProseViolation {
  readonly rule: 'phrase' | 'opening' | 'length' | 'semicolon';
  readonly message: string;
}

/** Maximum number of words in a sentence. */
const MAX_WORDS = 25;
/** A text with fewer words is a label or a value, not a sentence. */
const LEAST_WORDS = 3;

/** Phrases that readers did not understand, each with a better word. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\b(?:tell|tells|told|telling) of\b/i, 'report'],
  [/\banew\b/i, 'again'],
  [/\bletter by letter\b/i, 'byte for byte'],
  [/\bunder way\b/i, 'in flight'],
  [/\b(?:no|some|any)body\b/i, 'the actor: a worker, a caller, a person'],
  [/\bwho(?:ever)? holds\b/i, 'the owner'],
  [/\b(?:whoever|whichever|whatsoever)\b/i, 'the actor or the thing'],
  [/\bwhat (?:is|was|were) there\b/i, 'the thing that exists'],
  [/\bfor want of\b/i, 'without'],
  [/\bin the place of\b/i, 'instead of'],
  [/\bat hand\b/i, 'available'],
  [/\bas (?:it|they|he|she) stands?\b/i, 'the current state'],
  [/\ball the same\b/i, 'still'],
  [/\bin hand\b/i, 'in flight'],
  [/\b(?:is|are|was|were) told\b/i, 'the actor, and report or print'],
  [/\bgoes? on with what\b/i, 'continues'],
  [/\bgives? way to\b/i, 'is replaced by'],
  [/\bsays nothing of\b/i, 'does not describe'],
  [/\bcheckpoints?\b/i, 'summary'],
];

/** Openings that hide the subject of a sentence. They are allowed in questions. */
const OPENINGS = /^(?:of|who|whose|whom|what|where|one that|none (?:of|that)|those|neither|nor|whether)\b/i;

/** @param sentence one sentence or title, with its code replaced by a word */
export function checkSentence(sentence: string): ProseViolation[] {
  const violations: ProseViolation[] = PHRASES.flatMap(([pattern, instead]) => {
    const [found] = pattern.exec(sentence) ?? [];
    return found === undefined ? [] : [{ rule: 'phrase', message: `"${found}": say ${instead}` }];
  });
  const [opening] = OPENINGS.exec(sentence) ?? [];
  const words = countWords(sentence);
  if (opening !== undefined && words >= LEAST_WORDS && !sentence.endsWith('?')) {
    violations.push({ rule: 'opening', message: `begins with "${opening}": name the subject first` });
  }
  if (words > MAX_WORDS) violations.push({ rule: 'length', message: `${words} words, at most ${MAX_WORDS}` });
  if (sentence.includes(';')) violations.push({ rule: 'semicolon', message: 'a semicolon: write two sentences' });
  return violations;
}

/**
 * Splits prose into sentences. A sentence ends at a full stop that is followed by a capital letter, a quotation or
 * code.
 */
export function splitSentences(text: string): string[] {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\b(?:e\.g|i\.e|etc|vs|cf)\./g, (abbreviation) => abbreviation.replaceAll('.', ''))
    .split(/(?<=[.!?])["')\]]*\s+(?=["'([<]*(?:[\p{Lu}\d`]|turnfold\b))/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /\p{L}/u.test(sentence));
}

function countWords(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length;
}
