/**
 * How much of what an agent uses next its compacted context still holds, over the recorded conversations:
 * `npm run bench:context -- [--budgets 0.2,2000] [--groups tau,coding] [--rows mask,turnfold] [--json]`.
 * A budget below 1 is a share of the source. Token budgets apply to sources of at least 20,000 tokens.
 */
import { parseArgs } from 'node:util';
import type { Message } from '../../src/domain/message.ts';
import { findBrokenGuards } from '../../src/evaluation/quality/guards.ts';
import type { QualityScore } from '../../src/evaluation/quality/score.ts';
import { renderMessages } from '../../src/evaluation/quality/searchable-text.ts';
import { BASELINES } from './baselines.ts';
import { compactWith, LADDERS } from './ladder-rows.ts';
import { type BenchPoint, countTokens, FAMILIES, type Family, findPoints } from './points.ts';

const MIN_TOKENS_OF_LONG = 20_000;

const { values } = parseArgs({
  options: {
    budgets: { type: 'string', default: '0.2,1000,2000,4000,8000' },
    groups: { type: 'string', default: '' },
    rows: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});
const budgets = values.budgets.split(',').map(Number);
const rowNames = values.rows === '' ? [...Object.keys(BASELINES), ...Object.keys(LADDERS)] : values.rows.split(',');

interface Measured extends QualityScore {
  readonly row: string;
  readonly budget: number;
  readonly family: Family;
  readonly id: string;
  /** Tokens of the context ÷ its budget. */
  readonly fill: number;
  readonly broken: readonly string[];
  readonly ms: number;
}

async function contextOf(
  row: string,
  bench: BenchPoint,
  budget: number,
): Promise<readonly Message[] | string | undefined> {
  const baseline = BASELINES[row];
  if (baseline !== undefined) return baseline(bench, budget);
  const policy = LADDERS[row];
  if (policy === undefined) throw new Error(`rows: no row "${row}". Rows are ${rowNames.join(', ')}`);
  return await compactWith(policy, bench, budget);
}

async function measure(row: string, bench: BenchPoint, share: number): Promise<Measured | undefined> {
  const budget = share < 1 ? Math.floor(share * bench.tokens) : share;
  const startMs = performance.now();
  const context = await contextOf(row, bench, budget);
  if (context === undefined) return undefined;
  const ms = performance.now() - startMs;
  const text = typeof context === 'string' ? context : renderMessages(context);
  const score = bench.scorer.score(text);
  const fill = countTokens(text) / budget;
  const tokens = countTokens(text);
  const messages = typeof context === 'string' ? [] : context;
  const { sourceDensity } = bench.scorer;
  const broken = findBrokenGuards({ score, sourceDensity, tokens, maxTokens: budget, messages });
  const { id } = bench.point.recording;
  return {
    row,
    budget: share,
    family: bench.family,
    id,
    fill,
    ms,
    ...score,
    broken,
  };
}

/** Mean over the points of each family, then over the families. */
function meanOf(all: readonly Measured[], value: (one: Measured) => number | undefined): number {
  const means = FAMILIES.flatMap((family) => {
    const own = all.filter((one) => one.family === family).flatMap((one) => value(one) ?? []);
    return own.length === 0 ? [] : [own.reduce((sum, one) => sum + one, 0) / own.length];
  });
  return means.length === 0 ? Number.NaN : means.reduce((sum, one) => sum + one, 0) / means.length;
}

const percent = (value: number): number => Math.round(value * 1_000) / 10;

const measured: Measured[] = [];
for (const bench of findPoints(values.groups === '' ? [] : values.groups.split(','))) {
  for (const budget of budgets) {
    if (budget >= 1 && bench.tokens < MIN_TOKENS_OF_LONG) continue;
    for (const row of rowNames)
      measured.push(...[await measure(row, bench, budget)].filter((one) => one !== undefined));
  }
}
if (values.json) console.log(JSON.stringify(measured));
else {
  for (const budget of budgets) {
    const points = measured.filter((one) => one.budget === budget && one.row === rowNames[0]).length;
    console.log(`\nbudget ${budget < 1 ? `${budget * 100} %` : budget}, ${points} points, of 100`);
    console.table(
      Object.fromEntries(
        rowNames.map((row) => {
          const own = measured.filter((one) => one.row === row && one.budget === budget);
          const columns = {
            points: own.length,
            recall: percent(meanOf(own, (one) => one.recall)),
            rare: percent(meanOf(own, (one) => one.rare)),
            far: percent(meanOf(own, (one) => one.far)),
            arg: percent(meanOf(own, (one) => one.inArguments)),
            J: percent(meanOf(own, (one) => one.selectivity)),
            anchored: percent(meanOf(own, (one) => one.anchored)),
            users: percent(meanOf(own, (one) => one.userWords)),
            fill: percent(meanOf(own, (one) => one.fill)),
            'under 70': own.filter((one) => one.fill < 0.7).length,
            broken: own.filter((one) => one.broken.length > 0).length,
            ...(process.env['FAMS']
              ? Object.fromEntries(
                  FAMILIES.map((f) => {
                    const o = own.filter((x) => x.family === f);
                    return [
                      f,
                      `${percent(o.reduce((a, x) => a + x.recall, 0) / o.length)}/${percent(o.reduce((a, x) => a + (x.rare ?? 0), 0) / o.filter((x) => x.rare !== undefined).length)}/${percent(o.reduce((a, x) => a + (x.selectivity ?? 0), 0) / o.filter((x) => x.selectivity !== undefined).length)}`,
                    ];
                  }),
                )
              : {}),
            ms: Math.round(meanOf(own, (one) => one.ms)),
          };
          return [row, columns];
        }),
      ),
    );
  }
}
