import { type FactKind, isKept, plantFacts, writeFacts } from './planted.ts';
import { type BenchPoint, type BenchRecording, FAMILIES, familyOf, preparePoint } from './points.ts';
import { Corpus } from './quality/corpus.ts';
import { findCuts } from './quality/point.ts';
import { type Row, renderContext, sumTokens, tokensOf } from './row.ts';

/** How many planted facts of one kind the contexts of a row still hold. */
export interface KeptFacts {
  readonly row: string;
  readonly kind: FactKind;
  readonly planted: number;
  readonly kept: number;
}

/** Recordings of each family that get facts, evenly spread, in addition to those that small families leave over. */
const PER_FAMILY = 12;
const BUDGET_SHARE = 0.2;

/** Plants facts in recordings, compacts each to 20 % of its tokens, and counts what is still said. */
export async function measurePlanted(
  recordings: readonly BenchRecording[],
  rows: readonly Row[],
): Promise<KeptFacts[]> {
  const corpus = new Corpus(recordings);
  const counted = new Map<string, { row: string; kind: FactKind; planted: number; kept: number }>();
  for (const [seed, recording] of chooseRecordings(recordings).entries()) {
    const facts = writeFacts(seed);
    const bench = plantInto(recording, { facts, corpus });
    if (bench === undefined) continue;
    for (const { name: row, compact } of rows) {
      const text = renderContext((await compact(bench, Math.floor(BUDGET_SHARE * bench.tokens))) ?? '');
      for (const fact of facts) {
        const entry = counted.get(`${row} ${fact.kind}`) ?? { row, kind: fact.kind, planted: 0, kept: 0 };
        counted.set(`${row} ${fact.kind}`, entry);
        entry.planted += 1;
        if (isKept(text, fact)) entry.kept += 1;
      }
    }
  }
  return [...counted.values()];
}

function chooseRecordings(recordings: readonly BenchRecording[]): BenchRecording[] {
  return FAMILIES.flatMap((family) => {
    const own = recordings.filter(({ group, messages }) => familyOf(group) === family && cutOf(messages) !== undefined);
    const step = Math.max(1, own.length / PER_FAMILY);
    return own.filter((_, index) => Math.floor(index % step) === 0).slice(0, PER_FAMILY);
  });
}

/** The last cut of a recording, so that most of it is source. */
function cutOf(messages: BenchRecording['messages']): number | undefined {
  const sizes = messages.map((message) => (message.role === 'system' ? 0 : tokensOf(message)));
  return findCuts(messages, sizes).at(-1);
}

function plantInto(
  recording: BenchRecording,
  { facts, corpus }: { readonly facts: ReturnType<typeof writeFacts>; readonly corpus: Corpus },
): BenchPoint | undefined {
  const cut = cutOf(recording.messages);
  if (cut === undefined) return undefined;
  const source = recording.messages.slice(0, cut).filter(({ role }) => role !== 'system');
  const planted = plantFacts(source, facts);
  const messages = [...planted, ...recording.messages.slice(cut)];
  const bench = preparePoint({ ...recording, messages }, planted.length, corpus);
  return { ...bench, tokens: sumTokens(planted) };
}
