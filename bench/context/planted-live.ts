import { type LiveLimits, playContext } from './live-context.ts';
import { type FactKind, isKept, type PlantedFact, plantFacts, writeFacts } from './planted.ts';
import { type BenchRecording, type Family, familyOf } from './points.ts';
import { type Row, renderContext } from './row.ts';

/** Ranges of passes since a rule was said, each with its name and its last number. */
export const AGES = [
  ['1', 1],
  ['2–4', 4],
  ['5–9', 9],
  ['10–19', 19],
  ['20+', Infinity],
] as const;
export type Age = (typeof AGES)[number][0];

/** Rules of one conversation that contexts still hold, by the passes since the rules were said. */
export interface LiveRules {
  readonly row: string;
  readonly conversation: string;
  readonly family: Family;
  readonly age: Age;
  /** A rule counts once for each pass. */
  readonly planted: number;
  readonly kept: number;
}

const RULE_KINDS: ReadonlySet<FactKind> = new Set(['rule of the user', 'prohibition of the user']);
/** Seeds of one conversation. Each gives a rule and a prohibition. */
const SEEDS = 3;
/** Rules are said early, so that most passes follow. */
const PLACES = [0.02, 0.1] as const;

/** Plants rules near the start of a conversation, plays it under a row, and looks for them after each pass. */
export async function measureLiveRules(
  row: Row,
  recording: BenchRecording,
  { limits, seed }: { readonly limits: LiveLimits; readonly seed: number },
): Promise<LiveRules[]> {
  const rules = writeRules(seed);
  const source = recording.messages.filter(({ role }) => role !== 'system');
  const messages = plantFacts(source, rules, PLACES);
  const said = rules.map((rule) => ({ rule, index: messages.findIndex(({ content }) => content === rule.text) }));
  const passes = new Map(rules.map((rule) => [rule, 0]));
  const counted = new Map<Age, { planted: number; kept: number }>();
  await playContext(row, messages, limits, (pass, before) => {
    if (pass.kind !== 'version') return;
    const text = renderContext(pass.context);
    for (const { rule, index } of said) {
      if (index >= before) continue;
      const number = (passes.get(rule) ?? 0) + 1;
      passes.set(rule, number);
      const age = nameAge(number);
      const entry = counted.get(age) ?? { planted: 0, kept: 0 };
      counted.set(age, entry);
      entry.planted += 1;
      if (isKept(text, rule)) entry.kept += 1;
    }
  });
  const place = { row: row.name, conversation: recording.id, family: familyOf(recording.group) };
  return [...counted].map(([age, counts]) => ({ ...place, age, ...counts }));
}

function writeRules(seed: number): PlantedFact[] {
  const seeds = Array.from({ length: SEEDS }, (_, index) => SEEDS * seed + index);
  return seeds.flatMap(writeFacts).filter(({ kind }) => RULE_KINDS.has(kind));
}

function nameAge(passes: number): Age {
  return (AGES.find(([, last]) => passes <= last) ?? AGES[0])[0];
}
