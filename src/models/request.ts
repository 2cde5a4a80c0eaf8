import { createHash } from 'node:crypto';
import { MAX_RESERVE_TOKENS } from '../domain/limits.ts';
import { ModelError, type ModelProfile, type ModelRequest } from '../domain/model.ts';
import { upperBoundTokens } from '../domain/size.ts';
import type { RuleContext } from '../wire/rules/rule.ts';
import type { Violation, WireRequest } from '../wire/wire-request.ts';

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

/**
 * Refuses a body that its provider would refuse, before it costs a request.
 * @throws ModelError
 */
export function checkBody(violations: readonly Violation[], describe: (refusal: string) => string): void {
  const [first] = violations;
  if (first === undefined) return;
  const rules = [...new Set(violations.map(({ rule }) => rule))].join(', ');
  const place = `${first.path === '' ? 'the request' : first.path}: ${first.message}`;
  if (violations.every(({ rule }) => rule === 'X9')) throw new ModelError('overflow', place, { code: rules });
  throw new ModelError('invalid', `breaks ${rules} at ${place}`, { code: rules, form: describe(first.path) });
}
