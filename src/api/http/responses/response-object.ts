import type { TurnUsage, Waiting, WaitingCall } from '../../../domain/turn.ts';
import type { CallPart, ResultPart, TurnView } from '../../client/index.ts';
import type { AnswerError } from '../app-options.ts';
import { undecided } from '../front-end/call-names.ts';
import { explainError, writeProblem } from '../problem.ts';
import { type ResponseName, type TurnName, writeCallId, writeItemId, writeResponseId } from './response-names.ts';

export type OutputItem = { readonly id: string; readonly type: string } & Readonly<Record<string, unknown>>;

export const RESPONSE_STATES = ['queued', 'in_progress', 'completed', 'failed', 'incomplete', 'cancelled'] as const;
export type ResponseStatus = (typeof RESPONSE_STATES)[number];

interface ResponseState {
  readonly status: ResponseStatus;
  readonly output: readonly OutputItem[];
  readonly view?: TurnView | undefined;
  /** Time since which the turn waits for its caller, in ms. */
  readonly since?: number | undefined;
  /** The turn in front, if this response waits behind its open calls. */
  readonly block?: ResponseBlock | undefined;
}

export interface ResponseBlock {
  readonly turn: string;
  readonly waiting: Waiting;
}

export interface ResponseFacts {
  readonly name: ResponseName;
  readonly agent: string;
  readonly createdAt: number;
  readonly background: boolean;
  readonly previous?: ResponseName | undefined;
  /** Fields of the request that the response repeats. Absent: only those that the turn shows. */
  readonly echo?: ResponseEcho | undefined;
}

export type ResponseEcho = Readonly<Record<string, unknown>>;

/** Fields that the API requires. The agent of a worker has settings of its own. */
const UNUSED = {
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  prompt_cache_key: null,
  reasoning: null,
  safety_identifier: null,
  service_tier: 'default',
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
};

export function writeResponse(facts: ResponseFacts, { status, output, view, since, block }: ResponseState): object {
  const { name, agent, createdAt, background, previous, echo = {} } = facts;
  const { failure, answer, usage, settledAt, metadata } = view ?? {};
  const reason = answer?.end === 'refusal' ? 'content_filter' : 'max_output_tokens';
  return {
    ...UNUSED,
    ...(metadata && { metadata }),
    ...echo,
    id: writeResponseId(name),
    object: 'response',
    created_at: Math.floor(createdAt / 1_000),
    completed_at: status === 'completed' ? Math.floor((settledAt ?? since ?? createdAt) / 1_000) : null,
    status,
    background,
    model: agent,
    conversation: { id: name.conversation },
    previous_response_id: previous === undefined ? null : writeResponseId(previous),
    output,
    ...(block !== undefined && { metadata: { ...metadata, ...writeBlock(name, block) } }),
    // The AI SDK refuses a failed response whose error has no type.
    error: failure === undefined ? null : { type: 'server_error', code: failure.code, message: failure.message },
    incomplete_details: status === 'incomplete' ? { reason } : null,
    usage: usage === undefined ? null : writeUsage(usage),
  };
}

const VALUE_LENGTH = 512;

/** The API has no field for the response that this one waits behind, but every client shows metadata. */
function writeBlock(
  { conversation }: ResponseName,
  { turn, waiting }: ResponseBlock,
): Readonly<Record<string, string>> {
  const open = undecided(waiting.calls);
  return {
    waits_behind: writeResponseId({ conversation, turn }),
    waits_for: waiting.for,
    open_calls: open
      .map((call) => writeCallId(waiting.for === 'approval' ? 'mcpr' : 'call', { conversation, turn }, call))
      .join(' ')
      .slice(0, VALUE_LENGTH),
  };
}

export function writeUsage({
  inputTokens,
  outputTokens,
  cachedTokens = 0,
}: Pick<TurnUsage, 'inputTokens' | 'outputTokens' | 'cachedTokens'>): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

const SERVER = { server_label: 'turnfold' };

/** Form of a call that a worker ran, so that the caller does not run it, too. */
export function writeMcpCall(
  owner: TurnName,
  { call, name, arguments: written }: CallPart,
  { content, isError }: Pick<ResultPart, 'content' | 'isError'>,
): OutputItem {
  return {
    id: writeItemId('mcp', owner, call),
    type: 'mcp_call',
    ...SERVER,
    name,
    arguments: written,
    output: isError ? null : content,
    error: isError ? content : null,
    status: isError ? 'failed' : 'completed',
  };
}

type NamedCall = Pick<WaitingCall, 'id' | 'name' | 'arguments' | 'hash'>;

export function writeCall(owner: TurnName, call: NamedCall): OutputItem & Pick<NamedCall, 'name' | 'arguments'> {
  const { id, name, arguments: written } = call;
  return {
    id: writeItemId('fc', owner, id),
    type: 'function_call',
    call_id: writeCallId('call', owner, call),
    name,
    arguments: written,
    status: 'completed',
  };
}

export function writeApproval(owner: TurnName, call: WaitingCall): OutputItem[] {
  const { name, arguments: written, input = written, decision } = call;
  const id = writeCallId('mcpr', owner, call);
  const request = { id, type: 'mcp_approval_request', ...SERVER, name, arguments: input };
  if (decision?.approved === undefined) return [request];
  const { approved: approve } = decision;
  return [
    request,
    { id: writeItemId('mcpa', owner, call.id), type: 'mcp_approval_response', approval_request_id: id, approve },
  ];
}

export const ITEM_STATES = ['in_progress', 'completed', 'incomplete'] as const;
export type ItemStatus = (typeof ITEM_STATES)[number];

/** Forms of text and of reasoning in the API. `place`: order of their events within a model step. */
export const OUTPUT_FORMS = {
  text: {
    place: 1,
    prefix: 'msg',
    textEvent: 'response.output_text',
    partEvent: 'response.content_part',
    index: { content_index: 0 },
    /** Clients expect this field in events of text. */
    logprobs: { logprobs: [] },
    writePart: (text: string): object => ({ type: 'output_text', text, annotations: [], logprobs: [] }),
    writeItem: (id: string, status: ItemStatus, content: readonly object[]): OutputItem => {
      return { id, type: 'message', role: 'assistant', status, content };
    },
  },
  reasoning: {
    place: 0,
    prefix: 'rs',
    textEvent: 'response.reasoning_summary_text',
    partEvent: 'response.reasoning_summary_part',
    index: { summary_index: 0 },
    logprobs: {},
    writePart: (text: string): object => ({ type: 'summary_text', text }),
    writeItem: (id: string, _status: ItemStatus, summary: readonly object[]): OutputItem => {
      return { id, type: 'reasoning', summary };
    },
  },
} as const;

/** Writes a problem that also has the error object of the Responses API. */
export const answerResponseError: AnswerError = (error, onDefect) => {
  const { problem, headers } = explainError(error, onDefect);
  const { status, code, detail: message, field: param = null } = problem;
  const body = { ...problem, error: { type: typeOf(status), code, message, param } };
  return writeProblem(body, { ...headers, ...refuseRetry(status, headers) });
};

export const NO_RETRY = { 'x-should-retry': 'false' };

/** The SDK of OpenAI repeats each 409, unless this header says that a repeated request cannot succeed. */
export function refuseRetry(status: number, headers: Readonly<Record<string, string>>): Record<string, string> {
  return status === 409 && headers['retry-after'] === undefined ? NO_RETRY : {};
}

function typeOf(status: number): string {
  if (status === 404) return 'not_found';
  if (status === 429) return 'too_many_requests';
  return status >= 500 ? 'server_error' : 'invalid_request';
}
