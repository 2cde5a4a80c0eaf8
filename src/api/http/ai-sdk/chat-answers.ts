import { z } from 'zod';
import { boundedRecord } from '../../../domain/bounded-schemas.ts';
import { fieldError } from '../../../domain/errors.ts';
import { jsonSchema, MAX_CALLS } from '../../../domain/message.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { CallAnswer } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readCallName } from '../front-end/call-names.ts';
import { readOpenTurns } from '../front-end/reads.ts';

const by = z.string().min(1).max(200).optional().describe('Person who answers. Shown with the decision.');

const answerSchema = z.union(
  [
    z.strictObject({ approved: z.boolean(), reason: z.string().optional(), by }),
    z.strictObject({ output: jsonSchema, by }),
    z.strictObject({ errorText: z.string(), by }),
  ],
  { error: 'expected a decision {approved, reason?}, a result {output} or an error {errorText}, each with {by?}' },
);

export const answersRequestSchema = z
  .strictObject({
    answers: boundedRecord(z.string().min(1).max(400), answerSchema, MAX_CALLS)
      .refine((answers) => Object.keys(answers).length > 0, 'expected at least one answer')
      .describe('Answers by `approval.id` of the part, or by its `toolCallId`.'),
  })
  .meta({ id: 'ChatAnswers', examples: [{ answers: { c2_1: { approved: true } } }] });

type PageAnswer = z.output<typeof answerSchema>;

/** Answers calls of a chat, also while the page streams another answer. */
export async function answerCalls(
  backend: Backend,
  id: string,
  body: unknown,
): Promise<{ readonly turn: string; readonly status: 'answered' | 'still_waiting' }> {
  const { answers } = parseInput(answersRequestSchema, body);
  const named = Object.entries(answers).map(([name, answer]) => ({ ...readCallName(name), answer }));
  const turn = await findTurn(
    backend,
    id,
    named.map((one) => one.id),
  );
  const given = named.map(({ id: call, hash, answer }): [string, CallAnswer] => [
    call,
    { ...readAnswer(answer), hash },
  ]);
  const status = await backend.client.answer(backend.nameOf(id), turn, Object.fromEntries(given));
  return { turn, status };
}

/** Finds the turn of calls: the one that waits, or the one whose message in the log made them. */
async function findTurn(backend: Backend, id: string, calls: readonly string[]): Promise<string> {
  const [first] = (await readOpenTurns(backend, id, { limit: 1 }))?.turns ?? [];
  const waiting = new Set(first?.waiting?.calls.map((call) => call.id));
  if (first !== undefined && calls.every((call) => waiting.has(call))) return first.turn;
  const [call = ''] = calls;
  const seq = Number(/^c(?<seq>\d{1,10})_/.exec(call)?.groups?.['seq'] ?? 0);
  const [entry] = seq === 0 ? [] : await backend.client.log(backend.nameOf(id), { after: seq - 1, limit: 1 });
  if (entry?.turn !== undefined && entry.message.toolCalls?.some((one) => one.id === call) === true) return entry.turn;
  throw fieldError('not_found', `answers.${call}`, 'the chat has no such call. Load the messages again');
}

function readAnswer(answer: PageAnswer): CallAnswer {
  const { by: person } = answer;
  const who = person !== undefined && { by: person };
  if ('approved' in answer) {
    const { approved, reason } = answer;
    return { approved, ...(reason !== undefined && { why: reason }), ...who };
  }
  if ('errorText' in answer) return { content: answer.errorText, isError: true, ...who };
  const { output } = answer;
  return { content: typeof output === 'string' ? output : JSON.stringify(output ?? null), ...who };
}
