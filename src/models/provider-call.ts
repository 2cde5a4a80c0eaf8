import { createHash } from 'node:crypto';
import { Agent, type Dispatcher, fetch as undiciFetch } from 'undici';
import { MAX_RESERVE_TOKENS } from '../domain/limits.ts';
import {
  type ModelAnswer,
  ModelError,
  type ModelProfile,
  type ModelRequest,
  type ModelUsage,
} from '../domain/model.ts';
import { upperBoundTokens } from '../domain/size.ts';
import type { Sliced } from '../domain/sliced.ts';
import { eventLoopShare } from '../tokens/event-loop-share.ts';
import { outlineRequest } from '../wire/request-outline.ts';
import type { RuleContext } from '../wire/rules/rule.ts';
import type { AnswerParts, Rendered, Violation, WireRequest } from '../wire/wire-request.ts';

/**
 * Turns a request into the renderers' form. The output cap is what the window has left by our upper bound. It is never
 * below the reserve, because the bound exceeds the provider's count.
 */
export function toWireRequest(request: ModelRequest, { id, ...profile }: ModelProfile): WireRequest {
  const { system, tools, messages, version, tokens } = request;
  const cap = Math.min(request.maxOutputTokens ?? profile.outputCapTokens, profile.outputCapTokens);
  const left = profile.windowTokens - upperBoundTokens(tokens, profile.upperBoundFactor);
  return {
    model: id,
    system,
    tools,
    messages,
    maxOutputTokens: Math.max(1, Math.min(cap, Math.max(left, MAX_RESERVE_TOKENS))),
    ...(version === undefined ? {} : { version }),
  };
}

export function sizeContext({ maxRequestBytes }: ModelProfile): RuleContext {
  return maxRequestBytes === undefined ? {} : { maxBytes: maxRequestBytes };
}

/** Adds to an answer the raw items and the facts under which the items may be sent back. */
export function recordAnswer(
  { items, ...answer }: AnswerParts,
  { format, id: model }: ModelProfile,
  { version, prefix }: { readonly version?: number | undefined; readonly prefix?: string },
  usage: ModelUsage | undefined,
): ModelAnswer {
  const boundTo = { ...(version === undefined ? {} : { version }), ...(prefix === undefined ? {} : { prefix }) };
  return { ...answer, ...(usage === undefined ? {} : { usage }), raw: { format, model, ...boundTo, items } };
}

export interface FailedCall {
  readonly signal: AbortSignal;
  /** Describes the structure of the refused request, without contents. */
  readonly describe: (refusal: string) => string;
}

/**
 * A proxy or provider may answer a repeated request from its cache. The key covers the step and the body, because a
 * step that is sent again after a pass is another request. The key is hashed, because a conversation id may hold
 * characters that headers refuse. It is sent as a header, because the SDKs' own option does not send it.
 */
export function callOptions(
  { idempotencyKey, signal }: ModelRequest,
  body: object,
): { signal: AbortSignal; headers: Record<string, string> } {
  const key = createHash('sha256').update(JSON.stringify([idempotencyKey, body]));
  return { signal, headers: { 'Idempotency-Key': key.digest('hex') } };
}

export type CheckedBody<Body> = Rendered<Body> & Pick<FailedCall, 'describe'>;

/**
 * Renders a body and checks it by the rules of its format, so that a request that would be refused is not sent.
 * @throws ModelError
 */
export async function renderChecked<Body>(
  rendering: Sliced<Rendered<Body>>,
  validate: (body: Body) => Sliced<Violation[]>,
): Promise<CheckedBody<Body>> {
  const rendered = await eventLoopShare.run(rendering);
  const { body } = rendered;
  const describe = (refusal: string): string => outlineRequest(body, refusal);
  checkBody(await eventLoopShare.run(validate(body)), describe);
  return { ...rendered, describe };
}

/** @throws ModelError that names the first violation */
function checkBody(violations: readonly Violation[], describe: (refusal: string) => string): void {
  const [first] = violations;
  if (first === undefined) return;
  const rules = [...new Set(violations.map(({ rule }) => rule))].join(', ');
  const place = `${first.path === '' ? 'the request' : first.path}: ${first.message}`;
  if (violations.every(({ rule }) => rule === 'X9')) throw new ModelError('overflow', place, { code: rules });
  throw new ModelError('invalid', `breaks ${rules} at ${place}`, { code: rules, form: describe(first.path) });
}

/** Timeout of the SDK clients. The step has its own deadline, and the SDKs' default timeout would end long answers. */
const NEVER_MS = 2_147_483_647;

/** An agent without timeouts: Node's default agent ends a connection after five silent minutes of thinking. */
export function openAgent(): Agent {
  return new Agent({ headersTimeout: 0, bodyTimeout: 0 });
}

/**
 * The `fetch` of the agent's own undici, because Node bundles another version. The cast is safe: the types differ only
 * in iterator methods.
 */
const fetch = undiciFetch as unknown as typeof globalThis.fetch;

/**
 * Options of every SDK client. The SDKs do not retry: the turn retries, records each attempt, and frees its slot while
 * it waits.
 */
export function commonOptions(dispatcher: Dispatcher) {
  return { maxRetries: 0, logLevel: 'off', timeout: NEVER_MS, fetch, fetchOptions: { dispatcher } } as const;
}

/**
 * Drops the headers that an SDK reads from the environment (`ANTHROPIC_CUSTOM_HEADERS`, `OPENAI_CUSTOM_HEADERS`). They
 * would replace our key, and no option turns them off.
 */
export function dropForeignHeaders<Client extends object>(client: Client): Client {
  const { _options: options } = client as { readonly _options?: { defaultHeaders?: unknown } };
  if (options !== undefined) options.defaultHeaders = undefined;
  return client;
}
