import { parseArgs } from 'node:util';
import { explore } from './explore.ts';
import { exploreScenario, SCENARIOS } from './scenarios.ts';

const KINDS = ['lostWakes', 'lostReplies', 'deaths', 'lapses', 'gone'] as const;

/**
 * Searches further than a test has time for:
 * `npm run protocol -- [--faults 2] [--each 1] [--kind deaths,lapses] [--seconds 60] [--only 'hard pass']`.
 * `faults` limits the faults of a run, `each` the faults of one kind, `seconds` the time for a scenario. `only` is a regular
 * expression for names of scenarios.
 */
const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '2' },
    each: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    kind: { type: 'string', default: KINDS.join(',') },
    only: { type: 'string', default: '' },
  },
});
const kinds = values.kind.split(',');
const countOf = (kind: (typeof KINDS)[number]): number => (kinds.includes(kind) ? Number(values.each) : 0);
const faults = {
  lostWakes: countOf('lostWakes'),
  lostReplies: countOf('lostReplies'),
  deaths: countOf('deaths'),
  lapses: countOf('lapses'),
  gone: countOf('gone'),
  all: Number(values.faults),
};
const maxMs = Number(values.seconds) * 1_000;
for (const scenario of SCENARIOS.filter(({ name }) => new RegExp(values.only).test(name))) {
  const startedAt = performance.now();
  const explored = await explore(exploreScenario(scenario, { faults, maxSteps: Number.POSITIVE_INFINITY, maxMs }));
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(`${scenario.name}: ${JSON.stringify(explored)}, ${seconds} s\n`);
}
