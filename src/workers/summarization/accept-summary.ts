import type { Weight } from '../../domain/message.ts';
import type { SummarizationTask } from '../../domain/ports/queue.ts';
import type { SummaryAnswer } from '../../domain/ports/summarizer.ts';
import type { SummaryRecord } from '../../domain/ports/summary-store.ts';
import { renderWidestSummary } from '../../domain/summary.ts';
import type { Summary } from '../../domain/version.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

type Own = Extract<SummaryAnswer, { status: 'written' }>['own'];

/** Accepted only if it says something and is strictly smaller, in whichever form it is sent, than what it replaces. */
export async function acceptSummary(
  prepared: Pick<PreparedAgent, 'weigh'>,
  task: SummarizationTask,
  summary: Summary,
  own?: Own,
): Promise<SummaryRecord> {
  if (summary.text.trim() === '') return { status: 'refused', why: 'empty' };
  const weight = await weighSummary(prepared, summary, own);
  if (weight.tokens >= task.sequence.tokens)
    return { status: 'refused', why: `${weight.tokens} tokens, not smaller than ${task.sequence.tokens}` };
  return { status: 'accepted', summary: own === undefined ? summary : { ...summary, raw: own.raw }, weight };
}

/** Of its larger form: which one is sent depends on the model, and on what stands before it. */
async function weighSummary(
  { weigh }: Pick<PreparedAgent, 'weigh'>,
  { text, covers }: Summary,
  own: Own,
): Promise<Weight> {
  const { tokens, bytes } = await weigh({ role: 'summary', content: renderWidestSummary(text, covers) });
  if (own === undefined) return { tokens, bytes };
  return {
    tokens: Math.max(tokens, own.tokens),
    bytes: Math.max(bytes, Buffer.byteLength(JSON.stringify(own.raw.items))),
  };
}
