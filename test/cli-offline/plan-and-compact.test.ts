import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readJsonLines, runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';
import { calls, result, says, system } from './talks.ts';

const PICTURE = {
  type: 'image',
  mediaType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4',
};
const pdfOf = (bytes: number) => ({
  type: 'document',
  mediaType: 'application/pdf',
  data: Buffer.from(`%PDF-1.4 ${'x'.repeat(bytes)}`).toString('base64'),
});

const words = (most: number) =>
  fc
    .array(fc.constantFrom('alpha', 'order', '#W1234567', 'costs', '12.50', 'of', 'item'), {
      minLength: Math.ceil(most / 9),
      maxLength: most,
      size: 'max',
    })
    .map((all) => all.join(' '));

const question = fc
  .record({ text: words(300), pdf: fc.option(fc.nat(9_000)), hasPicture: fc.boolean() })
  .map(({ text, pdf, hasPicture }) => {
    const files = [...(pdf === null ? [] : [pdfOf(pdf)]), ...(hasPicture ? [PICTURE] : [])];
    return { role: 'user', content: text, ...(files.length > 0 && { parts: [{ type: 'text', text }, ...files] }) };
  });

const turn = fc.record({
  asked: question,
  results: fc.array(words(900), { maxLength: 2, size: 'max' }),
  answer: fc.option(words(80)),
});

const talk = fc.record({ turns: fc.array(turn, { minLength: 1, maxLength: 5, size: 'max' }) }).map(({ turns }) => [
  system,
  ...turns.flatMap(({ asked, results, answer }, at) => [
    asked,
    ...results.flatMap((text, round) => [calls(`c${at}-${round}`, { at, round }), result(`c${at}-${round}`, text)]),
    // Only the last turn may still run.
    ...(answer === null && at === turns.length - 1 ? [] : [says(answer ?? 'Done.')]),
  ]),
]);

const COUNT = 30;
const TALKS = fc
  .sample(talk, { numRuns: COUNT, seed: 32 })
  .map((messages, index) => ({ id: `talk-${index}`, messages }));

test.each([60, 250, 1_000, 3_000])(
  'at %i tokens, compact fits each conversation that plan can fit, and refuses each one that plan calls infeasible',
  async (budget) => {
    const file = await writeTemporary('talks.jsonl', TALKS);
    const policy = await writeTemporary(
      'policy.yaml',
      `token_threshold: ${budget}\nmax_tokens: ${budget}\nretention_window: 3`,
    );
    const planned = readJsonLines((await runTurnfold(['plan', file, '--policy', policy, '--json'])).stdout);
    const compacted = readJsonLines((await runTurnfold(['compact', file, '--policy', policy, '--json'])).stdout);
    expect(planned).toHaveLength(COUNT);
    const due = planned.flatMap(({ kind, why }, index) =>
      kind === 'none' ? [] : [{ kind, why, end: compacted[index] }],
    );
    expect(due.length).toBeGreaterThan(COUNT / 10);
    for (const { kind, why, end } of due) {
      const refusal = (end as { readonly error?: { readonly message: string } }).error;
      expect({ isRefused: kind === 'infeasible', why }).toStrictEqual({
        isRefused: refusal !== undefined,
        why: refusal?.message,
      });
    }
  },
);
