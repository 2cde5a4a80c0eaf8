/** Words of English that say little about a statement. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  (
    'about after again all also and any are because been before but can could did does doing done each else every few for from ' +
    'get had has have hello here how into its just like make many more most much need not now off one only other ' +
    'our out over own please said same she should some such than thank thanks that the their them then there these they ' +
    'this those through too under until very want was way were what when where which while who will with would you your'
  ).split(' '),
);
const MIN_CHARS = 3;
const RUN = /[\p{L}\p{N}_./#@-]+/gu;
const MARKS_AT_ENDS = /^[./#@-]+|[./#@-]+$/g;
/** Japanese and Chinese have no blanks between words. */
const WITHOUT_BLANKS = /[\u3040-\u30ff\u3400-\u9fff]/;

/** Words that carry a statement, in lower case, each once. Chinese and Japanese texts give pairs of characters. */
export function wordsOf(text: string): string[] {
  return [...(WITHOUT_BLANKS.test(text) ? pairsOf(text) : findWords(text))];
}

function findWords(text: string): Set<string> {
  const words = new Set<string>();
  for (const [run] of text.toLowerCase().matchAll(RUN)) {
    const word = run.replace(MARKS_AT_ENDS, '');
    if (word.length >= MIN_CHARS && !EMPTY_WORDS.has(word)) words.add(word);
  }
  return words;
}

function pairsOf(text: string): Set<string> {
  const dense = text.toLowerCase().replaceAll(/\s+/g, '');
  const pairs = new Set<string>();
  for (let at = 0; at + 2 <= dense.length; at += 1) pairs.add(dense.slice(at, at + 2));
  return pairs;
}

/** Share of the words that a text holds anywhere. @param lower the text in lower case */
export function shareSaid(words: readonly string[], lower: string): number {
  return words.length === 0 ? 0 : words.filter((word) => lower.includes(word)).length / words.length;
}

const MAX_PLACES = 40;

/** True if one stretch of a text holds at least this share of the words. @param lower the text in lower case */
export function isSaidTogether(
  words: readonly string[],
  lower: string,
  { reach, share }: { readonly reach: number; readonly share: number },
): boolean {
  const needed = share * words.length;
  if (words.filter((word) => lower.includes(word)).length < needed) return false;
  const places = words.flatMap((word) => findPlaces(lower, word).map((at) => ({ at, word })));
  places.sort((one, other) => one.at - other.at);
  const inside = new Map<string, number>();
  let first = 0;
  for (const { at, word } of places) {
    inside.set(word, (inside.get(word) ?? 0) + 1);
    for (let oldest = places[first]; oldest !== undefined && at - oldest.at > reach; oldest = places[first]) {
      const left = (inside.get(oldest.word) ?? 0) - 1;
      if (left === 0) inside.delete(oldest.word);
      else inside.set(oldest.word, left);
      first += 1;
    }
    if (inside.size >= needed) return true;
  }
  return false;
}

function findPlaces(lower: string, word: string): number[] {
  const places: number[] = [];
  for (let at = lower.indexOf(word); at !== -1 && places.length < MAX_PLACES; at = lower.indexOf(word, at + 1))
    places.push(at);
  return places;
}
