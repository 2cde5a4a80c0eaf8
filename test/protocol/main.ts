import { parseArgs } from 'node:util';
import { explore } from './explore.ts';
import { exploreScenario, SCENARIOS } from './scenarios.ts';

/** `node test/protocol/main.ts --faults 3 --each 1 --seconds 600`: deeper than a test has time for. */
const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '2' },
    each: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    only: { type: 'string' },
    whole: { type: 'boolean', default: false },
  },
});
const each = Number(values.each);
const faults = { lostWakes: each, lostReplies: each, deaths: each, lapses: each, all: Number(values.faults) };
for (const scenario of SCENARIOS) {
  if (values.only !== undefined && !new RegExp(values.only).test(scenario.name)) continue;
  const startedAt = performance.now();
  const maxMs = Number(values.seconds) * 1_000;
  const exploration = exploreScenario(scenario, { faults, maxSteps: Number.POSITIVE_INFINITY, maxMs });
  const { ends, stored: _, ...explored } = await explore({ ...exploration, isUnreduced: values.whole });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(`${scenario.name}: ${JSON.stringify({ ...explored, ends: ends.size })}, ${seconds} s\n`);
}
