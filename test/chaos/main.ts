/**
 * Chaos: `npm run chaos -- [--turns 2000] [--seed 7] [--minutes 5] [--conversations 200] [--workers 4] [--pace 1]`.
 * Exits with 1 if a check found something, or if the time ended before all turns were accepted.
 */
import { parseArgs } from 'node:util';
import { describeReport } from './report.ts';
import { runChaos } from './run.ts';

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    minutes: { type: 'string', default: '5' },
    conversations: { type: 'string', default: '200' },
    workers: { type: 'string', default: '4' },
    /** Multiplies the pause between two faults. */
    pace: { type: 'string', default: '1' },
  },
});
const turns = Number(values.turns);
process.stderr.write(`seed ${values.seed}\n`);
const report = await runChaos({
  seed: Number(values.seed),
  turns,
  conversations: Number(values.conversations),
  workers: Number(values.workers),
  minutes: Number(values.minutes),
  pace: Number(values.pace),
  log: (line) => process.stderr.write(`${line}\n`),
});
const args = Object.entries(values).map(([name, value]) => `--${name} ${value}`);
process.stdout.write(`npm run chaos -- ${args.join(' ')}\n${describeReport(report)}`);
const accepted = Object.values(report.turns).reduce((sum, count) => sum + count, 0);
if (accepted < turns) process.stdout.write(`only ${accepted} turns were accepted within ${values.minutes} minutes\n`);
process.exit(report.findings.length === 0 && accepted >= turns ? 0 : 1);
