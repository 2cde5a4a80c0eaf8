import type { Message } from '../../../src/domain/message.ts';
import {
  findCallIdentifiers,
  findIdentifiers,
  type IdentifierKind,
} from '../../../src/evaluation/quality/identifiers.ts';
import { renderMessage, renderMessages } from '../../../src/evaluation/quality/searchable-text.ts';
import type { Corpus, Recording } from './corpus.ts';
import { findNeedles, type Needle } from './needles.ts';

/** A cut of a recording. Messages before it are compacted, messages after it show what the agent needed. */
export interface QualityPoint {
  readonly recording: Recording;
  /** Index of the first message after the cut. */
  readonly cut: number;
  readonly source: readonly Message[];
  readonly sourceText: string;
  readonly needles: readonly Needle[];
  /** Identifiers like the needles in kind and frequency that the agent never uses again. */
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

interface ControlSource {
  readonly source: readonly Message[];
  readonly later: readonly Message[];
  readonly isCommon: (identifier: string) => boolean;
}

/** Allowed differences in frequency between a needle and its control, by preference. */
const FREQUENCY_STEPS = [0, -1, 1, -2, 2, -3, 3];
/** Constant of a linear congruential generator, so that every run chooses the same controls. */
const MULTIPLIER = 1_103_515_245;
const INCREMENT = 12_345;

/**
 * Chooses controls: identifiers with a needle's kind and frequency that the agent never uses again. Plain words get no
 * control.
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

/** Cuts, as shares of a recording's tokens before the cut. */
const SHARES = [0.5, 0.75];
/** Minimum messages before a cut, without system messages. */
const MIN_BEFORE = 8;
const MIN_AFTER = 5;

/**
 * Finds the first message after each cut. A cut separates no call from its result, and has enough messages on both
 * sides.
 * @param sizes tokens or characters by index, 0 for system messages
 * @param shares shares of the sizes before the cuts
 */
export function findCuts(
  messages: readonly Message[],
  sizes: readonly number[],
  shares: readonly number[] = SHARES,
): number[] {
  const first = messages.findIndex(({ role }) => role !== 'system');
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const cuts = shares.map((share) => {
    let cut = first;
    for (let before = 0; cut < messages.length && before + (sizes[cut] ?? 0) <= share * total; cut += 1) {
      before += sizes[cut] ?? 0;
    }
    while (messages[cut]?.role === 'tool') cut += 1;
    return cut;
  });
  return [...new Set(cuts)].filter((cut) => cut - first >= MIN_BEFORE && messages.length - cut >= MIN_AFTER);
}
