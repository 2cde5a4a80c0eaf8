import { answeredIds, batches } from './pairing.ts';
import type { Breach, RuleContext } from './rule.ts';
import type { BodyView } from './view.ts';

/** X4: the last message is one that the model may answer: a user message, or the complete results of the last round. */
export function* endsAnswerable(view: BodyView, { isProbed }: RuleContext): Generator<Breach> {
  const last = view.messages.at(-1);
  if (last === undefined || isProbed === true) return;
  const { path, author } = last;
  if (author === 'assistant' || author === 'system') {
    yield { path, message: `the last message is of the ${author}: expected the user's or a result` };
  }
  if (author !== 'result') return;
  const answered = answeredIds(view.results);
  const lastBatch = [...batches(view.calls)].at(-1) ?? [];
  if (lastBatch.some(({ id }) => !answered.has(id))) yield { path, message: 'the last round is not complete' };
}

/** X5: there is a message besides system, and the first of them is the user's, or stands for it. */
export function* startsWithUser({ messages }: BodyView): Generator<Breach> {
  const first = messages.find(({ author }) => author !== 'system');
  if (first === undefined) yield { path: '', message: 'no message besides system' };
  else if (first.author !== 'user' && first.isCompaction !== true) {
    yield { path: first.path, message: "the first message besides system is not the user's" };
  }
}
