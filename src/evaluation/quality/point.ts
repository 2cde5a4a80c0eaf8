import type { Message } from '../../domain/message.ts';
import type { Corpus, Recording } from './corpus.ts';
import { findCallIdentifiers, findIdentifiers, type IdentifierKind } from './identifiers.ts';
import { findNeedles, type Needle } from './needles.ts';
import { renderMessage, renderMessages } from './searchable-text.ts';

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

/** Conversation around a cut, from which controls are chosen. */
interface ControlSource {
  /** Messages before the cut, without system messages. */
  readonly source: readonly Message[];
  /** All messages after the cut. */
  readonly later: readonly Message[];
  readonly isCommon: (identifier: string) => boolean;
}

/** Differences between the frequencies of a needle and its control, in the order of preference. */
const FREQUENCY_STEPS = [0, -1, 1, -2, 2, -3, 3];
/** Constants of a linear congruential generator, so that every run chooses the same controls. */
const MULTIPLIER = 1_103_515_245;
const INCREMENT = 12_345;

/**
 * Chooses one control for each needle: an identifier of the same kind that the agent never uses after the cut. About as
 * many messages of the source hold it. Plain words, and needles without a similar identifier, get no control.
 */
function chooseControls(needles: readonly Needle[], { source, later, isCommon }: ControlSource): string[] {
  const used = new Set(needles.map(({ text }) => text));
  const said = renderMessages(later.filter(({ role }) => role === 'assistant'));
  for (const identifier of findIdentifiers(said).keys()) used.add(identifier);
  const counted = countMessages(source);
  const pool = new Map<string, string[]>();
  for (const [text, { kind, messages }] of counted) {
    if (used.has(text) || isCommon(text)) continue;
    const similar = pool.get(keyOf(kind, messages)) ?? [];
    pool.set(keyOf(kind, messages), similar);
    similar.push(text);
  }
  const controls: string[] = [];
  let seed = INCREMENT;
  for (const { text, kind, messages } of needles) {
    if (kind === 'word') continue;
    const frequency = counted.get(text)?.messages ?? messages;
    const similar = FREQUENCY_STEPS.map((step) => pool.get(keyOf(kind, frequency + step)) ?? []).find(
      (texts) => texts.length > 0,
    );
    if (similar === undefined) continue;
    seed = (Math.imul(seed, MULTIPLIER) + INCREMENT) >>> 0;
    controls.push(...similar.splice(seed % similar.length, 1));
  }
  return controls;
}

function keyOf(kind: IdentifierKind, messages: number): string {
  return `${kind} ${messages}`;
}

interface Counted {
  readonly kind: IdentifierKind;
  messages: number;
}

/** Counts the messages that hold each identifier. */
function countMessages(messages: readonly Message[]): Map<string, Counted> {
  const counts = new Map<string, Counted>();
  for (const message of messages) {
    const identifiers = findIdentifiers(renderMessage(message));
    for (const call of message.toolCalls ?? []) {
      for (const [text, kind] of findCallIdentifiers(call)) if (!identifiers.has(text)) identifiers.set(text, kind);
    }
    for (const [text, kind] of identifiers) {
      const entry = counts.get(text) ?? { kind, messages: 0 };
      counts.set(text, entry);
      entry.messages += 1;
    }
  }
  return counts;
}
