/**
 * Chaos: `npm run chaos -- [--turns 2000] [--seed 7] [--minutes 5] [--conversations 200] [--workers 4] [--pace 1] [--json file]`,
 * or `-- --mutations`. Ends with 1 where something was found that must not be, a mutation was
 * not, or there was no time for all turns.
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { MUTATIONS, runMutation } from './mutants.ts';
import { describeReport } from './report.ts';
import { runChaos, USUAL } from './run.ts';

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    minutes: { type: 'string', default: '5' },
    conversations: { type: 'string', default: '200' },
    workers: { type: 'string', default: String(USUAL.workers) },
    /** times the usual pause between two faults */
    pace: { type: 'string', default: '1' },
    /** where the report goes besides */
    json: { type: 'string' },
    mutations: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
process.stderr.write(`seed ${seed}\n`);
process.exit((await (values.mutations ? runMutations() : run())) ? 0 : 1);

async function run(): Promise<boolean> {
  const report = await runChaos({
    ...USUAL,
    seed,
    turns: Number(values.turns),
    conversations: Number(values.conversations),
    workers: Number(values.workers),
    minutes: Number(values.minutes),
    harm: { pace: Number(values.pace) },
    log: (line) => process.stderr.write(`${line}\n`),
  });
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
  const args = Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'string' ? [`--${name} ${value}`] : [],
  );
  process.stdout.write(`npm run chaos -- ${args.join(' ')}\n${describeReport(report)}`);
  const accepted = Object.values(report.turns).reduce((sum, count) => sum + count, 0);
  if (accepted < Number(values.turns))
    process.stdout.write(`only ${accepted} turns within ${values.minutes} minutes\n`);
  return report.findings.length === 0 && accepted >= Number(values.turns);
}

/** Each beside the same run over the code as it is. */
async function runMutations(): Promise<boolean> {
  let isGood = true;
  for (const mutation of MUTATIONS) {
    const sound = await runMutation(mutation, seed, false);
    const mutated = await runMutation(mutation, seed);
    const found = mutated.findings.filter(({ rule }) => rule === mutation.rule);
    isGood &&= sound.findings.length === 0 && found.length > 0;
    const verdict = `${found.length} × “${mutation.rule}” of ${mutated.findings.length}; without it ${sound.findings.length}`;
    process.stdout.write(`${mutation.name}: ${verdict}\n`);
    for (const { detail } of [...found.slice(0, 1), ...sound.findings.slice(0, 3)])
      process.stdout.write(`  ${detail}\n`);
  }
  return isGood;
}
