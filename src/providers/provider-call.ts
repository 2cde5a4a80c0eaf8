import { createHash } from 'node:crypto';
import type { GateSettings } from '../domain/gate.ts';
import type { Interruptible } from '../domain/interruptible.ts';
import { MAX_RESERVE_TOKENS } from '../domain/limits.ts';
import {
  type ModelAnswer,
  ModelError,
  type ModelProfile,
  type ModelRequest,
  type ModelUsage,
} from '../domain/model.ts';
import type { ModelOptions } from '../domain/model-options.ts';
import type { RawFormat } from '../domain/raw-items.ts';
import { upperBoundTokens } from '../domain/size.ts';
import { outlineRequest } from '../wire/request-outline.ts';
import { eventLoopShare } from '../wire/tokens/event-loop-share.ts';
import type { AnswerParts, Rendered, Violation, WireRequest } from '../wire/wire-request.ts';
import type { FailedCall } from './provider-errors.ts';

/**
 * Limits the output to the window minus turnfold's upper bound of the request, but at least to the reserved output. The
 * bound is larger than the provider's count.
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
    ...(version !== undefined && { version }),
    ...(request.cache && { cacheTtl: request.cache.ttl }),
    ...(profile.abilities?.inputs && { inputs: profile.abilities.inputs }),
  };
}

interface AnswerFacts extends Pick<ModelAnswer, 'nextCallAt'> {
  readonly version?: number | undefined;
  readonly prefix?: string | undefined;
}

/** Adds the provider's verbatim items, and the model, version and prefix to which their thinking is bound. */
export function toModelAnswer(
  { items, ...answer }: AnswerParts,
  { format, id: model }: { readonly format?: RawFormat; readonly id: string },
  { version, prefix, nextCallAt }: AnswerFacts,
  usage: ModelUsage | undefined,
): ModelAnswer {
  const boundTo = { ...(version !== undefined && { version }), ...(prefix !== undefined && { prefix }) };
  return { ...answer, ...(usage && { usage }), raw: { format, model, ...boundTo, items }, nextCallAt };
}

/**
 * Returns SDK options with an idempotency key, by which a proxy may answer a repeated request from its cache. The key
 * covers the body: a step that is sent again after a compaction is another request. The key is a hash, because a
 * conversation id may have characters that are illegal in headers. The SDKs do not send their own option for this
 * header.
 */
export function callOptions(
  { idempotencyKey, signal }: ModelRequest,
  body: object,
  extraHeaders: Readonly<Record<string, string>> = {},
): { signal: AbortSignal; headers: Record<string, string> } {
  const key = createHash('sha256').update(JSON.stringify([idempotencyKey, body]));
  return { signal, headers: { ...extraHeaders, 'Idempotency-Key': key.digest('hex') } };
}

/** Each pair of model and key has a gate, because providers limit accounts. Its name has a short hash of the key. */
export function gateOf({ gate }: ModelOptions, { id }: ModelProfile, apiKey: string, baseUrl = ''): GateSettings {
  const account = createHash('sha256').update(`turnfold gate ${baseUrl} ${apiKey}`).digest('hex').slice(0, 8);
  return { ...gate, name: gate?.name ?? `${id}@${account}` };
}

/**
 * Opens a provider once its SDK is loaded, and loads the SDK again after a failure. An SDK takes about 0.15 s of CPU
 * time, so only a process that creates a model loads it.
 */
export function loadSdk<Module, Access>(
  load: () => Promise<Module>,
  open: (module: Module) => Access,
): () => Promise<Access> {
  let access: Promise<Access> | undefined;
  const opened = (): Promise<Access> => {
    access ??= load()
      .then(open)
      .catch((error: unknown) => {
        access = undefined;
        throw error;
      });
    return access;
  };
  // Each request awaits the SDK, and reports why loading failed.
  opened().catch(() => undefined);
  return opened;
}

export type CheckedBody<Body> = Rendered<Body> & Pick<FailedCall, 'describe'>;

/**
 * Renders a body and checks it by the wire rules, so that no request is sent that the provider would refuse.
 * @throws ModelError if the body breaks a rule: `overflow` for its size, else `invalid`
 */
export async function renderChecked<Body>(
  rendering: Interruptible<Rendered<Body>>,
  validate: (body: Body) => Interruptible<Violation[]>,
): Promise<CheckedBody<Body>> {
  const rendered = await eventLoopShare.run(rendering);
  const { body } = rendered;
  const describe = (refusal: string): string => outlineRequest(body, refusal);
  checkBody(await eventLoopShare.run(validate(body)), describe);
  return { ...rendered, describe };
}

function checkBody(violations: readonly Violation[], describe: (refusal: string) => string): void {
  const [first] = violations;
  if (first === undefined) return;
  const rules = [...new Set(violations.map(({ rule }) => rule))].join(', ');
  const place = first.path === '' ? first.message : `${first.path}: ${first.message}`;
  if (violations.every(({ rule }) => rule === 'X9')) throw new ModelError('overflow', place, { code: rules });
  const refusal = `the provider would refuse the request, so it was not sent: ${place} (wire rules ${rules})`;
  throw new ModelError('invalid', refusal, { code: rules, form: describe(first.path) });
}

export const ERROR_CHARACTERS = 1_048_576;
