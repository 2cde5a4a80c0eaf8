import { foldLine, takeEnds } from './text.ts';

/** What a sentence of an assistant does. */
export type SentenceKind = 'decides' | 'opens' | 'opening' | 'tells';

export interface Sentence {
  readonly text: string;
  readonly kind: SentenceKind;
}

const DECISION =
  /\b(?:i'll|i’ll|i will|i've|i have|decided?|decision|instead|so we|so i|fixed|confirmed|conclu\w{2,5}|cause is|because|therefore|turns out|works now|passed|done|completed?|success\w{0,6})\b/i;
const OPEN_END = /\b(?:todo|next step|remaining|not yet|still|later|pending|unclear|would you|do you|could you)\b|\?$/i;
const SENTENCE_END = /(?<=[.!?])\s+/;
/** Escaped ones, too: some models answer in JSON. */
const LINE_END = /\n|\\n/;
const FENCE_LINE = /^\s{0,3}(?:`{3}|~{3})/;
const LIST_MARK = /^(?:[-*+]|\d{1,3}[.)])\s+/;
const MIN_WORDS = 3;

/** The sentences of an assistant's text, without its code; each is one folded line. */
export function readSentences(text: string): Sentence[] {
  const sentences: Sentence[] = [];
  let isCode = false;
  for (const line of takeEnds(text).split(LINE_END)) {
    if (FENCE_LINE.test(line)) isCode = !isCode;
    else if (!isCode) {
      for (const part of line.trim().replace(LIST_MARK, '').split(SENTENCE_END)) {
        const sentence = foldLine(part);
        if (sentence.split(' ', MIN_WORDS).length === MIN_WORDS) {
          sentences.push({ text: sentence, kind: classify(sentence, sentences.length === 0) });
        }
      }
    }
  }
  return sentences;
}

function classify(sentence: string, isFirst: boolean): SentenceKind {
  if (OPEN_END.test(sentence)) return 'opens';
  if (DECISION.test(sentence)) return 'decides';
  return isFirst ? 'opening' : 'tells';
}
