import type { Interruptible } from '../../domain/interruptible.ts';
import type { ToolDescription } from '../../domain/model.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import { type ArrangedSystem, arrangeInSlices } from '../arrange.ts';
import { NO_ORIGIN, type Rendered, type WireRequest } from '../wire-request.ts';
import type { ResponsesBody, ResponsesTool } from './body.ts';
import { layItems, writeDeveloper } from './layout.ts';

export interface ResponsesOptions extends Pick<ProviderHabits, 'callIds' | 'takesLaterSystem'> {
  /** True: the request asks for encrypted reasoning. A model that does not reason refuses that. Default true. */
  readonly isReasoning?: boolean;
}

/** Smallest `max_output_tokens` that the API accepts. */
const MIN_OUTPUT_TOKENS = 16;

export function* renderResponsesInSlices(
  request: WireRequest,
  { isReasoning = true, callIds, takesLaterSystem = true }: ResponsesOptions = {},
): Interruptible<Rendered<ResponsesBody>> {
  const arranged = yield* arrangeInSlices(request, 'openai-responses', { callIds, takesLaterSystem });
  const items = yield* layItems(arranged.items);
  const [prompt, logged] = splitSystem(arranged.system);
  yield;
  const laid = [...logged.map(writeDeveloper), ...items];
  return {
    format: 'openai-responses',
    body: {
      model: request.model,
      ...(prompt === undefined ? {} : { instructions: prompt.text }),
      input: laid.map(({ item }) => item),
      ...(arranged.tools.length === 0 ? {} : { tools: arranged.tools.map(writeTool) }),
      max_output_tokens: Math.max(MIN_OUTPUT_TOKENS, request.maxOutputTokens),
      store: false,
      ...(isReasoning ? { include: ['reasoning.encrypted_content' as const] } : {}),
    },
    origins: laid.map(({ origins }) => origins),
    prefix: arranged.prefix,
  };
}

/** The agent's prompt becomes `instructions`. Other system texts become developer messages before the input. */
function splitSystem(system: readonly ArrangedSystem[]): [ArrangedSystem | undefined, readonly ArrangedSystem[]] {
  const [first, ...rest] = system;
  return first?.origin === NO_ORIGIN ? [first, rest] : [undefined, system];
}

/** Writes a tool. `strict` would be true by default, and servers refuse a schema without `properties`. */
function writeTool({ name, description, parameters }: ToolDescription): ResponsesTool {
  const schema = { properties: {}, ...parameters, type: 'object' };
  return { type: 'function', name, description, parameters: schema, strict: false };
}
