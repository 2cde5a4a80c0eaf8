// Scanner: words, compounds, CJK bigrams; linear, one class lookup a character.
const OTHER = 0, LOWER = 1, UPPER = 2, DIGIT = 3, LINE = 4, JOIN = 5, HAN = 6, SPACE = 7;
const CLASS = new Uint8Array(65536);
function classify(code: number): number {
  const ch = String.fromCharCode(code);
  if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(ch)) return HAN;
  if (/\p{Lu}/u.test(ch)) return UPPER;
  if (/[\p{L}\p{M}]/u.test(ch)) return LOWER;
  if (/\p{N}/u.test(ch)) return DIGIT;
  if (ch === '_') return LINE;
  if ('./-@:#+~$%'.includes(ch)) return JOIN;
  if (/\s/.test(ch)) return SPACE;
  return OTHER;
}
for (let c = 0; c < 65536; c++) CLASS[c] = c < 0x250 || (c >= 0x370 && c < 0x600) || (c >= 0x3000 && c < 0xd7b0) ? classify(c) : c >= 0xd800 && c < 0xe000 ? OTHER : 255;
export function classOf(code: number): number {
  let k = CLASS[code] as number;
  if (k === 255) CLASS[code] = k = classify(code);
  return k;
}
const isWord = (k: number): boolean => k === LOWER || k === UPPER || k === DIGIT || k === LINE;
const MIN = 3, MAX = 120;
/**
 * emit(term, isCompound, start, end). Words of >= 3 characters; compounds are words joined by single joiners.
 */
export function scan(text: string, from: number, to: number, emit: (term: string, start: number, end: number, compound: boolean) => void): void {
  let at = from;
  while (at < to) {
    const k = classOf(text.charCodeAt(at));
    if (k === HAN) {
      let end = at + 1;
      while (end < to && classOf(text.charCodeAt(end)) === HAN) end++;
      if (end - at === 1) emit(text.slice(at, end), at, end, false);
      for (let i = at; i + 2 <= end; i++) emit(text.slice(i, i + 2), i, i + 2, false);
      at = end; continue;
    }
    if (!isWord(k)) { at++; continue; }
    // a compound: words joined by runs of joiners without spaces
    const start = at; let words = 0, last = at, slash = -1;
    for (;;) {
      const w = at;
      while (at < to && isWord(classOf(text.charCodeAt(at)))) at++;
      if (at - w >= MIN) emit(text.slice(w, at), w, at, false);
      words++; last = at;
      let j = at;
      while (j < to && j - at < 3 && classOf(text.charCodeAt(j)) === JOIN) j++;
      if (j === at || j >= to || !isWord(classOf(text.charCodeAt(j))) || j - start > MAX) break;
      if (text.charCodeAt(j - 1) === 47) slash = j;
      // "key: value" has a space, "12:" ends a compound
      at = j;
    }
    at = last;
    if (words > 1 && last - start <= MAX) {
      emit(text.slice(start, last), start, last, true);
      if (slash > start && last - slash >= MIN && text.indexOf('.', slash) > 0 && text.indexOf('.', slash) < last) emit(text.slice(slash, last), slash, last, true);
    }
  }
}
/** shape of a term */
export function shapeOf(t: string): { lower: number; upper: number; digit: number; line: number; han: number; join: number; inner: number; first: number } {
  let lower = 0, upper = 0, digit = 0, line = 0, han = 0, join = 0, inner = 0;
  for (let i = 0; i < t.length; i++) { const k = classOf(t.charCodeAt(i)); if (k === LOWER) lower++; else if (k === UPPER) { upper++; if (i > 0 && classOf(t.charCodeAt(i - 1)) === LOWER) inner++; } else if (k === DIGIT) digit++; else if (k === LINE) line++; else if (k === HAN) han++; else join++; }
  return { lower, upper, digit, line, han, join, inner, first: classOf(t.charCodeAt(0)) };
}
