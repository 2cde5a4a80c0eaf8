import { z } from 'zod';
import { isMapping } from '../../domain/parse.ts';

export type InputSchema = Readonly<Record<string, unknown>>;

/** The model gets the JSON Schema unchanged. The MCP server or the AI SDK tool checks the arguments. */
export function inputOfJsonSchema(schema: InputSchema): z.ZodType<Record<string, unknown>> {
  const input = z.custom<Record<string, unknown>>(isMapping, 'expected a JSON object');
  // A copy, because zod writes into the object that it gets.
  input['_zod'].toJSONSchema = () => structuredClone(schema);
  return input;
}
