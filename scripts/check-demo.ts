/**
 * CI check of the last line of `demo --json`, read from stdin. No model call may exceed its window. Compaction must
 * have summarized and evicted at least as often as `--summarized n` and `--evicted n` demand.
 */
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { z } from 'zod';

const { values } = parseArgs({
  options: { summarized: { type: 'string', default: '0' }, evicted: { type: 'string', default: '0' } },
});

const count = z.int().nonnegative();
const promise = z.strictObject({
  turns: z.int().positive(),
  versions: z.int().positive(),
  summarized: count.min(Number(values.summarized)),
  evicted: count.min(Number(values.evicted)),
  tokensPeak: z.int().positive(),
  tokensEnd: z.int().positive(),
  overLimit: z.literal(0),
});

const printed = (await text(process.stdin)).trimEnd();
const lastLine = printed.split('\n').at(-1) ?? '';
const outcome = promise.safeParse(parseLine(lastLine));
console.log(outcome.success ? lastLine : printed);
if (!outcome.success) {
  console.error(
    `The result of the demo does not meet the expectations of this check:\n${z.prettifyError(outcome.error)}`,
  );
  process.exitCode = 1;
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
