import type { Message } from '../../domain/message.ts';
import { chooseControls } from './controls.ts';
import type { Corpus, Recording } from './corpus.ts';
import { findNeedles, type Needle } from './needles.ts';
import { renderMessages } from './searchable-text.ts';

/** A cut of a recording. Messages before the cut are compacted. Messages after the cut show what the agent needed. */
export interface QualityPoint {
  readonly recording: Recording;
  /** Index of the first message after the cut. */
  readonly cut: number;
  /** Messages before the cut, without system messages. */
  readonly source: readonly Message[];
  readonly sourceText: string;
  readonly needles: readonly Needle[];
  /** Identifiers like the needles, by kind and by frequency, that the agent never uses again. */
  readonly controls: readonly string[];
}

export function findPoint(recording: Recording, cut: number, corpus: Corpus): QualityPoint {
  const { group, messages } = recording;
  const source = messages.slice(0, cut).filter(({ role }) => role !== 'system');
  const needles = findNeedles(messages, cut, {
    isCommon: (identifier) => corpus.isCommon(identifier, group),
    isRareWord: (word) => corpus.isRareWord(word),
  });
  const controls = chooseControls(needles, {
    source,
    later: messages.slice(cut),
    isCommon: (identifier) => corpus.isCommon(identifier, group),
  });
  return { recording, cut, source, sourceText: renderMessages(source), needles, controls };
}
