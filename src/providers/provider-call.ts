import { createHash } from 'node:crypto';
import { Agent, type Dispatcher } from 'undici';
import type { GateSettings } from '../domain/gate.ts';
import { MAX_RESERVE_TOKENS } from '../domain/limits.ts';
import {
  type ModelAnswer,
  ModelError,
  type ModelProfile,
  type ModelRequest,
  type ModelUsage,
} from '../domain/model.ts';
import type { ModelOptions } from '../domain/model-options.ts';
import { upperBoundTokens } from '../domain/size.ts';
import type { Sliced } from '../domain/sliced.ts';
import { outlineRequest } from '../wire/request-outline.ts';
import type { RuleContext } from '../wire/rules/rule.ts';
import { eventLoopShare } from '../wire/tokens/event-loop-share.ts';
import type { AnswerParts, Rendered, Violation, WireRequest } from '../wire/wire-request.ts';
import { providerFetch } from './provider-fetch.ts';

/**
 * Converts a model request into the input of the renderers. The output limit is the window minus our upper bound of the
 * request's tokens. This limit is never below the reserved output, because the upper bound is higher than the
 * provider's count.
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
    ...(request.cache === undefined ? {} : { cacheTtl: request.cache.ttl }),
    ...(profile.abilities?.inputs && { inputs: profile.abilities.inputs }),
  };
}

export function sizeContext({ maxRequestBytes }: ModelProfile): RuleContext {
  return maxRequestBytes === undefined ? {} : { maxBytes: maxRequestBytes };
}

interface AnswerFacts extends Pick<ModelAnswer, 'nextCallAt'> {
  readonly version?: number | undefined;
  readonly prefix?: string;
}

/**
 * Adds the provider's verbatim items to an answer, with the model, the context version and the prefix under which they
 * may be sent back.
 */
export function recordAnswer(
  { items, ...answer }: AnswerParts,
  { format, id: model }: ModelProfile,
  { version, prefix, nextCallAt }: AnswerFacts,
  usage: ModelUsage | undefined,
): ModelAnswer {
  const boundTo = { ...(version === undefined ? {} : { version }), ...(prefix === undefined ? {} : { prefix }) };
  const raw = { format, model, ...boundTo, items };
  return { ...answer, ...(usage === undefined ? {} : { usage }), raw, nextCallAt };
}

export interface FailedCall {
  readonly signal: AbortSignal;
  /** Describes the structure of the refused request, without contents. */
  readonly describe: (refusal: string) => string;
}

/**
 * Returns the SDK options for a request, with an idempotency key as a header. A proxy or provider may answer a repeated
 * request from its cache.
 * - The key covers the step and the body, because a step that is sent again after a compaction is a different request.
 * - The key is hashed, because a conversation id may hold characters that are illegal in headers.
 * - The key is set as a header, because the SDKs do not send their own option for it.
 */
export function callOptions(
  { idempotencyKey, signal }: ModelRequest,
  body: object,
  extraHeaders: Readonly<Record<string, string>> = {},
): { signal: AbortSignal; headers: Record<string, string> } {
  const key = createHash('sha256').update(JSON.stringify([idempotencyKey, body]));
  return { signal, headers: { ...extraHeaders, 'Idempotency-Key': key.digest('hex') } };
}

/**
 * Returns the settings of a model's gate. By default each pair of model and key has a gate of its own, because the limits
 * of providers are those of an account. The name holds a short hash of the key, which does not reveal the key.
 */
export function gateOf({ gate }: ModelOptions, { id }: ModelProfile, apiKey: string, baseUrl = ''): GateSettings {
  const account = createHash('sha256').update(`turnfold gate ${baseUrl} ${apiKey}`).digest('hex').slice(0, 8);
  return { ...gate, name: gate?.name ?? `${id}@${account}` };
}

export type CheckedBody<Body> = Rendered<Body> & Pick<FailedCall, 'describe'>;

/**
 * Renders a request body and checks it against the wire rules of its format. A body that the provider would refuse is
 * not sent.
 * @throws ModelError if the body breaks a rule: `overflow` for its size, else `invalid`
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

/** @throws ModelError that describes the first violation of a wire rule */
function checkBody(violations: readonly Violation[], describe: (refusal: string) => string): void {
  const [first] = violations;
  if (first === undefined) return;
  const rules = [...new Set(violations.map(({ rule }) => rule))].join(', ');
  const place = first.path === '' ? first.message : `${first.path}: ${first.message}`;
  if (violations.every(({ rule }) => rule === 'X9')) throw new ModelError('overflow', place, { code: rules });
  throw new ModelError('invalid', `the request breaks the wire rules ${rules}: ${place}`, {
    code: rules,
    form: describe(first.path),
  });
}

/** Timeout of the SDK clients. Callers set their own deadline, and the SDKs' default timeout would end long answers. */
const NEVER_MS = 2_147_483_647;

/**
 * Opens an HTTP agent without timeouts, because Node's default agent closes a connection after five minutes without
 * data while a model thinks.
 */
export function openAgent(): Agent {
  return new Agent({ headersTimeout: 0, bodyTimeout: 0 });
}

/**
 * Options of every SDK client. The SDKs do not retry, because the turn retries: it records each attempt, and frees its
 * worker slot while it waits.
 */
export function commonOptions(dispatcher: Dispatcher) {
  return {
    maxRetries: 0,
    logLevel: 'off',
    timeout: NEVER_MS,
    fetch: providerFetch,
    fetchOptions: { dispatcher },
  } as const;
}

/**
 * Removes the headers that an SDK reads from the environment variables `ANTHROPIC_CUSTOM_HEADERS` and
 * `OPENAI_CUSTOM_HEADERS`. These headers would replace our API key, and no SDK option turns them off.
 */
export function dropForeignHeaders<Client extends object>(client: Client): Client {
  const { _options: options } = client as { readonly _options?: { defaultHeaders?: unknown } };
  if (options !== undefined) options.defaultHeaders = undefined;
  return client;
}
