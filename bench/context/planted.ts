import type { Message } from '../../src/domain/message.ts';
import { findWhole } from '../../src/evaluation/quality/searchable-text.ts';

/** A statement that a conversation holds once, in its older part. */
export interface PlantedFact {
  readonly kind: FactKind;
  /** Message that says it, by role. */
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** Words that must stand close together in a context that still says it. */
  readonly keys: readonly string[];
}

export type FactKind =
  | 'rule of the user'
  | 'prohibition of the user'
  | 'fact from the user'
  | 'corrected fact'
  | 'implicit wish'
  | 'implicit constraint'
  | 'decision of the agent'
  | 'value in a result';

/** Kinds without a name or number to find them by. Only a reader sees that they matter. */
export const IMPLICIT_KINDS: readonly FactKind[] = ['implicit wish', 'implicit constraint'];

interface Template {
  readonly role: PlantedFact['role'];
  /** Each text has `{name}`, `{number}` or neither. Its keys follow. */
  readonly texts: readonly (readonly [string, ...string[]])[];
}

const TEMPLATES: Readonly<Record<FactKind, Template>> = {
  'rule of the user': {
    role: 'user',
    texts: [
      ['One rule for this work: run make {name}-check before you call a step done.', '{name}-check'],
      ['Always prefix new functions with {name}_, our reviewers insist.', '{name}_', 'prefix'],
      ['Please put the label {name}-{number} on everything that you change.', '{name}-{number}'],
    ],
  },
  'prohibition of the user': {
    role: 'user',
    texts: [
      ['Never touch the folder legacy/{name}, another team owns it.', 'legacy/{name}'],
      ['Do not use the account {name}.{number}, it is frozen.', '{name}.{number}'],
      ['Nothing may be sent to {name}@example.org before I agree.', '{name}@example.org'],
    ],
  },
  'fact from the user': {
    role: 'user',
    texts: [
      ['The ticket for all of this is OPS-{number}.', 'OPS-{number}'],
      ['My customer number is K{number}, in case you need it.', 'K{number}'],
      ['The contact on our side is called {Name} Winter.', '{Name} Winter'],
    ],
  },
  'corrected fact': {
    role: 'user',
    texts: [
      ['Correction: the limit is not 4{number}, it is 7{number}.', '7{number}'],
      [
        'I was wrong about the host, it is {name}-new.example.org and no longer {name}-old.example.org.',
        '{name}-new.example.org',
      ],
      ['Take back what I said on the date, the right one is 2031-05-1{digit}.', '2031-05-1{digit}'],
    ],
  },
  'implicit wish': {
    role: 'user',
    texts: [
      ['By the way, I read this on a phone while walking, so walls of text are hard for me.', 'phone', 'walls'],
      ['My colleague from accounting reads along and gets nervous at jargon.', 'accounting', 'jargon'],
      ['I was woken up by alarms twice last week and would love to sleep again.', 'alarms', 'sleep'],
    ],
  },
  'implicit constraint': {
    role: 'user',
    texts: [
      ['We show this to the board on Thursday morning, nothing risky until then.', 'Thursday', 'risky'],
      ['The machine in the basement is old and runs out of memory quickly.', 'basement', 'memory'],
      ['Our lawyer is still reading the contract, so the wording stays as it is.', 'lawyer', 'wording'],
    ],
  },
  'decision of the agent': {
    role: 'assistant',
    texts: [
      ['I decide to store this in the table {name}_entries, because the old table is locked.', '{name}_entries'],
      ['I will use port {number}5 from now on, the usual port is taken.', '{number}5'],
      ['Decision: we keep version {digit}.{number}.0, the newer one breaks the import.', '{digit}.{number}.0'],
    ],
  },
  'value in a result': {
    role: 'tool',
    texts: [
      ['{name}_retry_limit = {number}', '{name}_retry_limit', '{number}'],
      ['warning: checksum of {name}.dat is {number}ab{digit}', '{name}.dat', '{number}ab{digit}'],
      ['{"reference": "{name}-{number}", "state": "held"}', '{name}-{number}', 'held'],
    ],
  },
};

export const FACT_KINDS = Object.keys(TEMPLATES) as FactKind[];

const SYLLABLES = ['qua', 'vex', 'zor', 'mib', 'tul', 'kep', 'nax', 'fyr', 'jod', 'wug'];

/** One fact of each kind. Facts of different seeds have different names and numbers, except for the implicit ones. */
export function writeFacts(seed: number): PlantedFact[] {
  return FACT_KINDS.map((kind, index) => {
    const { role, texts } = TEMPLATES[kind];
    const number = 1_000 + (((seed * 8 + index) * 7_919) % 9_000);
    const name = [number, seed, index + seed].map((part) => SYLLABLES[part % SYLLABLES.length]).join('');
    const fill = (text: string): string =>
      text
        .replaceAll('{name}', name)
        .replaceAll('{Name}', name.charAt(0).toUpperCase() + name.slice(1))
        .replaceAll('{number}', String(number))
        .replaceAll('{digit}', String(number % 10));
    const [text = '', ...keys] = texts[seed % texts.length] ?? [];
    return { kind, role, text: fill(text), keys: keys.map(fill) };
  });
}

/** Part of the source in which facts stand, evenly spread. */
const PLACES: readonly [first: number, last: number] = [0.1, 0.6];

/** Inserts facts into a source. Facts of users are messages of their own, others become lines of existing messages. */
export function plantFacts(
  source: readonly Message[],
  facts: readonly PlantedFact[],
  [first, last] = PLACES,
): Message[] {
  const planted = [...source];
  facts.forEach(({ role, text }, index) => {
    const share = first + (last - first) * (index / Math.max(1, facts.length - 1));
    const wanted = Math.floor(share * planted.length);
    if (role === 'user') {
      const at = planted.findIndex(({ role: next }, place) => place >= wanted && next !== 'tool');
      planted.splice(at === -1 ? planted.length : at, 0, { role, content: text });
      return;
    }
    const at = planted.findIndex((message, place) => place >= wanted && message.role === role);
    const message = planted[at];
    if (message === undefined) planted.splice(wanted, 0, { role: 'assistant', content: text });
    else planted[at] = { ...message, content: insertLine(message.content, text) };
  });
  return planted;
}

/** Puts a line in the middle of a text. */
function insertLine(content: string, line: string): string {
  const lines = content.split('\n');
  return lines.toSpliced(Math.ceil(lines.length / 2), 0, line).join('\n');
}

/** Characters around the first key in which all other keys must stand. */
const REACH = 160;

export function isKept(context: string, { keys: [first = '', ...others] }: PlantedFact): boolean {
  return findWhole(context, first).some((at) => {
    const near = context.slice(Math.max(0, at - REACH), at + first.length + REACH);
    return others.every((key) => near.includes(key));
  });
}
