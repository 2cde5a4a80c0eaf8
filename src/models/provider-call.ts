import { createHash } from 'node:crypto';
import { Agent, type Dispatcher, fetch as undiciFetch } from 'undici';
import { MAX_RESERVE_TOKENS } from '../domain/limits.ts';
import { ModelError, type ModelProfile, type ModelRequest } from '../domain/model.ts';
import { upperBoundTokens } from '../domain/size.ts';
import type { Sliced } from '../domain/sliced.ts';
import { eventLoopShare } from '../tokens/event-loop-share.ts';
import { describeForm } from '../wire/request-outline.ts';
import type { RuleContext } from '../wire/rules/rule.ts';
import type { Rendered, Violation, WireRequest } from '../wire/wire-request.ts';

/**
 * A request of ours as the renderers take it. The answer may have all that the window has left by the upper bound of our count,
 * and never less than is reserved for one: the bound stands above what the provider will count.
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

/** What of the provider's caps a body is held to before it is sent. */
export function sizeContext({ maxRequestBytes }: ModelProfile): RuleContext {
  return maxRequestBytes === undefined ? {} : { maxBytes: maxRequestBytes };
}

/** What its error is told by. */
export interface FailedCall {
  readonly signal: AbortSignal;
  /** the request's form, for a refusal of it */
  readonly describe: (refusal: string) => string;
}

/** What goes with a body to every provider. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Whoever is between us and the model may answer a repeated request from the first one's answer. The key names the step and
 * the very body, since a step that is sent again after a pass is another request; hashed, since a conversation's id may hold
 * what no header takes. As a header: the clients' own option sends none.
 */
export function callOptions({ idempotencyKey, signal }: ModelRequest, body: object): CallOptions {
  const key = createHash('sha256').update(JSON.stringify([idempotencyKey, body]));
  return { signal, headers: { 'Idempotency-Key': key.digest('hex') } };
}

export interface CheckedBody<Body> extends Rendered<Body> {
  /** Outline of the body for an error report: roles, kinds, ids and sizes. */
  readonly describe: (refusal: string) => string;
}

/**
 * Renders a body and checks it by the rules of its format, so that a request that would be refused costs nothing.
 * @throws ModelError
 */
export async function renderChecked<Body>(
  rendering: Sliced<Rendered<Body>>,
  validate: (body: Body) => Sliced<Violation[]>,
): Promise<CheckedBody<Body>> {
  const rendered = await eventLoopShare.run(rendering);
  const { body } = rendered;
  const describe = (refusal: string): string => describeForm(body, refusal);
  checkBody(await eventLoopShare.run(validate(body)), describe);
  return { ...rendered, describe };
}

/**
 * Refuses a body that its provider would refuse, before it costs a request.
 * @throws ModelError
 */
function checkBody(violations: readonly Violation[], describe: (refusal: string) => string): void {
  const [first] = violations;
  if (first === undefined) return;
  const rules = [...new Set(violations.map(({ rule }) => rule))].join(', ');
  const place = `${first.path === '' ? 'the request' : first.path}: ${first.message}`;
  if (violations.every(({ rule }) => rule === 'X9')) throw new ModelError('overflow', place, { code: rules });
  throw new ModelError('invalid', `breaks ${rules} at ${place}`, { code: rules, form: describe(first.path) });
}

/** The step has its own deadline; a client's would end long answers. */
const NEVER_MS = 2_147_483_647;

/** Node's own ends a connection that is silent for five minutes, and a model may think for longer. */
export function openAgent(): Agent {
  return new Agent({ headersTimeout: 0, bodyTimeout: 0 });
}

/**
 * Of the agent's own package, since Node brings an undici of another version. It takes what Node's takes: the types, which
 * Node has in a package of their own, differ by methods of iterators alone.
 */
const fetch = undiciFetch as unknown as typeof globalThis.fetch;

/**
 * What the clients of all providers have in common. Retries are the turn's: each is in its record, and gives its slot back
 * while it waits.
 */
export function commonOptions(dispatcher: Dispatcher) {
  return { maxRetries: 0, logLevel: 'off', timeout: NEVER_MS, fetch, fetchOptions: { dispatcher } } as const;
}

/**
 * The clients put the headers of a variable of theirs (`ANTHROPIC_CUSTOM_HEADERS`, `OPENAI_CUSTOM_HEADERS`) on each request,
 * over our key as well, and have no option against it.
 */
export function dropForeignHeaders<Client extends object>(client: Client): Client {
  const { _options: options } = client as { readonly _options?: { defaultHeaders?: unknown } };
  if (options !== undefined) options.defaultHeaders = undefined;
  return client;
}
