import { z } from 'zod';
import { toolCallSchema } from './message.ts';
import { type ModelAnswer, ModelError } from './model.ts';
import { nameIssues } from './parse.ts';

/** What no answer can do without. A model of somebody's own may have been written without our types. */
const answerSchema = z.object({ content: z.string(), toolCalls: z.array(toolCallSchema) });

/**
 * The answer as it was given.
 * @throws ModelError of kind `fatal`: it names the field that does not fit, never what it holds
 */
export function checkAnswer(answer: ModelAnswer): ModelAnswer {
  const { error } = answerSchema.safeParse(answer);
  if (error === undefined) return answer;
  const [fault] = nameIssues(error, 'answer', 'invalid_input');
  const { usage }: Partial<ModelAnswer> = answer ?? {};
  throw new ModelError('fatal', fault?.message ?? 'answer: invalid', usage && { usage });
}
