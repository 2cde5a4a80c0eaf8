import { z } from 'zod';
import type { ToolOutput } from '../../domain/agent.ts';
import type { ToolOutcome } from '../../domain/events.ts';

/** The answer to one call: what enters the log, and how it is counted. */
export interface ToolAnswer {
  readonly output: ToolOutput;
  readonly outcome: ToolOutcome;
}

const outputSchema = z.union([
  z.string().transform((content): ToolOutput => ({ content })),
  z
    .object({ content: z.string(), isError: z.boolean().optional() })
    .transform(({ content, isError }): ToolOutput => (isError === true ? { content, isError } : { content })),
]);

const approvalSchema = z.object({ approved: z.boolean(), why: z.string().optional() });

export type Approval = z.infer<typeof approvalSchema>;

/** An error result as a model reads it: the code says what to do, the text says why. */
export function refuseCall(outcome: Exclude<ToolOutcome, 'done'>, why: string): ToolAnswer {
  return { output: { content: `${outcome}: ${why}`, isError: true }, outcome };
}

/** What a tool gave back, or an outside caller brought. */
export function readOutput(value: unknown): ToolAnswer {
  const parsed = outputSchema.safeParse(value);
  if (!parsed.success) return refuseCall('invalid_result', 'the tool answered neither text nor {content, isError}');
  return { output: parsed.data, outcome: parsed.data.isError === true ? 'failed' : 'done' };
}

/** @param json as brought by `resume` */
export function readBroughtOutput(json: string): ToolAnswer {
  const value = parseJson(json);
  return value.isJson ? readOutput(value.value) : refuseCall('invalid_result', 'the answer is not JSON');
}

/** What cannot be read approves nothing. */
export function readApproval(json: string): Approval {
  const value = parseJson(json);
  const parsed = approvalSchema.safeParse(value.isJson ? value.value : undefined);
  return parsed.success ? parsed.data : { approved: false, why: 'the decision could not be read' };
}

export type ParsedJson = { readonly isJson: true; readonly value: unknown } | { readonly isJson: false };

export function parseJson(text: string): ParsedJson {
  try {
    return { isJson: true, value: JSON.parse(text) };
  } catch {
    return { isJson: false };
  }
}
