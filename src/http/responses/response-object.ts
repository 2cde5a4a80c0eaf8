import type { TurnView } from '../../client/index.ts';
import { fieldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';

export type OutputItem = { readonly id: string; readonly type: string } & Readonly<Record<string, unknown>>;

/** Names of a response. The id holds them, so any server can read the response. */
export interface ResponseName {
  readonly conversation: string;
  readonly turn: string;
  /** The call that the request of this response answered. The response has what came after it. */
  readonly answered?: string | undefined;
}

const ID = /^resp_(?<conversation>[\w.-]+)~(?<turn>[\w.-]+?)(?:~(?<answered>c\d+_\d+))?$/;

function writeResponseId({ conversation, turn, answered }: ResponseName): string {
  return `resp_${conversation}~${turn}${answered === undefined ? '' : `~${answered}`}`;
}

/** @throws not_found for an id that no response has */
export function readResponseId(id: string, field = 'response_id'): ResponseName {
  const { conversation = '', turn = '', answered } = ID.exec(id)?.groups ?? {};
  if (idSchema.safeParse(conversation).success && idSchema.safeParse(turn).success) {
    return { conversation, turn, answered };
  }
  throw fieldError('not_found', field, 'no response has this id');
}

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'failed' | 'incomplete' | 'cancelled';

export interface ResponseState {
  readonly status: ResponseStatus;
  readonly output: readonly OutputItem[];
  readonly view?: TurnView | undefined;
}

/** Facts of a response that do not change while its turn runs. */
export interface ResponseFacts {
  readonly name: ResponseName;
  readonly agent: string;
  readonly createdAt: number;
  readonly background: boolean;
  readonly previous?: string | undefined;
}

/** Writes a response in the form of the OpenAI API. Fields that a turn does not have are null. */
export function writeResponse(facts: ResponseFacts, { status, output, view }: ResponseState): object {
  const { name, agent, createdAt, background, previous = null } = facts;
  const { failure, answer, usage } = view ?? {};
  return {
    id: writeResponseId(name),
    object: 'response',
    created_at: Math.floor(createdAt / 1_000),
    status,
    background,
    model: agent,
    conversation: { id: name.conversation },
    previous_response_id: previous,
    output,
    error: failure === undefined ? null : { code: failure.code, message: failure.message },
    incomplete_details: status === 'incomplete' ? { reason: readIncomplete(answer?.end) } : null,
    usage: usage === undefined ? null : writeUsage(usage),
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    store: true,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
  };
}

function readIncomplete(end: string | undefined): string {
  return end === 'refusal' ? 'content_filter' : 'max_output_tokens';
}

/** Counts in the form of the OpenAI API. */
export function writeUsage({ inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
