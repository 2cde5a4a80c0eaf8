import { parseArgs } from 'node:util';
import { explore } from './explore.ts';
import { exploreScenario, SCENARIOS } from './scenarios.ts';

const KINDS = ['lostWakes', 'lostReplies', 'deaths', 'lapses'] as const;

/**
 * Deeper than a test has time for: `npm run protocol -- [--faults 2] [--each 1] [--kind deaths,lapses] [--seconds 60]
 * [--only 'hard pass'] [--whole]`. So many faults in all, so many of each kind; seconds a scenario; scenarios whose name has
 * that (a regular expression); `--whole` leaves out nothing.
 */
const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '2' },
    each: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    kind: { type: 'string', default: KINDS.join(',') },
    only: { type: 'string' },
    whole: { type: 'boolean', default: false },
  },
});
const each = Number(values.each);
const kinds = new Set(values.kind.split(','));
const [lostWakes, lostReplies, deaths, lapses] = KINDS.map((kind) => (kinds.has(kind) ? each : 0)) as [
  number,
  number,
  number,
  number,
];
const faults = { lostWakes, lostReplies, deaths, lapses, all: Number(values.faults) };
for (const scenario of SCENARIOS) {
  if (values.only !== undefined && !new RegExp(values.only).test(scenario.name)) continue;
  const startedAt = performance.now();
  const maxMs = Number(values.seconds) * 1_000;
  const exploration = exploreScenario(scenario, { faults, maxSteps: Number.POSITIVE_INFINITY, maxMs });
  const { ends, stored: _, ...explored } = await explore({ ...exploration, isUnreduced: values.whole });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(`${scenario.name}: ${JSON.stringify({ ...explored, ends: ends.size })}, ${seconds} s\n`);
}
