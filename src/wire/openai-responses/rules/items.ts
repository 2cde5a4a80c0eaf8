import { z } from 'zod';
import type { Author } from '../../rules/view.ts';

export const contentSchema = z.union([z.string(), z.array(z.unknown())]);

/** An item of any kind, as far as rules look into it. `unknown` where a rule says what it has to be. */
export const itemSchema = z.object({
  /** items that are messages may leave it out */
  type: z.string().default('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']).optional(),
  id: z.string().nullish(),
  call_id: z.string().nullish(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
  content: z.unknown().optional(),
  output: z.unknown().optional(),
  encrypted_content: z.unknown().optional(),
  summary: z.unknown().optional(),
});

export type Item = z.infer<typeof itemSchema>;

/** A call that waits for an output of ours. Tools of the provider's own have no `call_id`: they hold their outcome. */
export function isCall({ type, call_id }: Item): boolean {
  return typeof call_id === 'string' && (type.endsWith('_call') || type === 'program');
}

export function isOutput({ type }: Item): boolean {
  return type.endsWith('_output');
}

/** What the output of a call is called. */
export function outputTypeOf(callType: string): string {
  return callType === 'tool_search_call' ? 'tool_search_output' : `${callType}_output`;
}

export function authorOf(item: Item): Author {
  const { type, role = 'user' } = item;
  if (type === 'message') return role === 'developer' ? 'system' : role;
  return isOutput(item) || type === 'mcp_approval_response' ? 'result' : 'assistant';
}

export function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
