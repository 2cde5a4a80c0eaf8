import type { Agent, LoadContext, SafetyIdentifier } from '../../domain/agent.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { MAX_REASONING_CHARACTERS, type Message, withoutReasoning } from '../../domain/message.ts';
import { type Model, ModelError, type ModelRequest } from '../../domain/model.ts';
import { isMapping } from '../../domain/parse.ts';
import { type ContentReference, readParts } from '../../domain/parts.ts';
import { describeThrown } from '../../domain/thrown.ts';
import type { TurnContext } from '../../domain/turn-context.ts';
import { hashOf } from '../content-hash.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { type SentContext } from './context-cache.ts';
import { callModel } from './model-call.ts';
import { isUnanswered } from './refused-request.ts';
import { idempotencyKey } from './turn-journal.ts';
import { requestSoftPass } from './turn-passes.ts';
import type { RunFacts, RunningTurn, RunState } from './turn-states.ts';

export async function askModel(run: RunningTurn, state: RunState<'ask'>): Promise<RunFacts['ask']> {
  const { prepared, guard, ports, journal } = run;
  const { tenant, id } = guard.lease.conversation;
  const sent = await run.context.read(journal.conversation);
  await requestSoftPass(run, state.soft, sent.messages);
  const { version, isCompacted } = sent;
  const streamed = { seq: journal.conversation.head + 1, step: state.number };
  let stream = run.stream.open(streamed);
  let reasoning = '';
  try {
    const result = await callModel({
      run,
      model: withContents(prepared.agent, { tenant, conversation: id }),
      request: {
        ...describeRequest(run, state, sent),
        onText: (piece) => stream.addText('text', piece),
        onReasoning: (piece) => {
          stream.addText('reasoning', piece);
          if (reasoning.length < MAX_REASONING_CHARACTERS) reasoning += piece;
        },
        onToolCall: (piece) => stream.addCall(piece),
        onPassedOver: () => {
          void stream.end();
          stream = run.stream.open(streamed);
          reasoning = '';
        },
      },
      isCompacted,
    });
    if (result.status === 'failed') {
      const { failure } = result;
      const retryAfterMs = failure.retryAt === undefined ? 0 : failure.retryAt - ports.clock.now();
      const asked = { version, isUnanswered: isUnanswered(journal.conversation, version) };
      return { ...result, ...asked, waits: journal.waitsOf(state.key), retryAfterMs, random: Math.random() };
    }
    // The stream of a final answer ends before the settlement, which refuses later pieces.
    if (result.answer.toolCalls.length === 0) await stream.end();
    const isKept = prepared.agent.keepReasoning !== false && reasoning !== '';
    const kept = isKept && { reasoning: reasoning.slice(0, MAX_REASONING_CHARACTERS).toWellFormed() };
    return { ...result, answer: { ...result.answer, ...kept }, sent };
  } finally {
    void stream.end();
  }
}

function describeRequest(
  run: RunningTurn,
  { key, tokens, number }: RunState<'ask'>,
  { messages, version }: SentContext,
): Omit<ModelRequest, 'signal'> {
  const { system, tools, answerSchema } = run.prepared;
  const { conversation, turn } = run.guard.lease;
  const gate = run.ports.gates?.gateFor(`turn|${conversation.tenant}|${conversation.id}|${turn}`);
  return {
    system,
    tools,
    messages: withoutReasoning(messages),
    tokens,
    version,
    ...hintProvider(run.prepared, conversation, run.turnContext),
    ...(answerSchema && { answerSchema }),
    ...writeCallSettings(run, number),
    ...(gate && { gate }),
    idempotencyKey: idempotencyKey(run, key),
  };
}

/** A turn whose every model call must call a tool would never end, so `required` holds for the first call. */
function writeCallSettings(
  { callSettings, prepared }: RunningTurn,
  step: number,
): Pick<ModelRequest, 'toolChoice' | 'maxOutputTokens'> {
  const { toolChoice, maxOutputTokens } = callSettings;
  const isChosen = toolChoice === 'none' || (toolChoice === 'required' && step === 1);
  return {
    ...(isChosen && prepared.tools.length > 0 && { toolChoice }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  };
}

/** Fields that help a provider to cache the request and to find who misuses a model. Ids are sent as hashes. */
export function hintProvider(
  { agent, policy }: Pick<PreparedAgent, 'agent' | 'policy'>,
  conversation: ConversationRef,
  context: TurnContext,
): Pick<ModelRequest, 'cache' | 'safetyIdentifier'> {
  const { tenant, id } = conversation;
  const person = identify(agent.safetyIdentifier ?? 'tenant', conversation, context);
  return {
    cache: { key: hashOf(JSON.stringify(['cache', tenant, id])), ttl: policy.cacheTtl },
    ...(person !== undefined && { safetyIdentifier: hashOf(JSON.stringify(['safety', tenant, person])) }),
  };
}

function identify(by: SafetyIdentifier, { tenant, id }: ConversationRef, context: TurnContext): string | undefined {
  if (by === 'off') return undefined;
  if (by === 'tenant') return tenant;
  if (by === 'conversation') return id;
  const value = context[by.context];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

const PARALLEL_LOADS = 8;

/** Replaces references in requests by the contents that `loadContent` returns. The log keeps the references. */
function withContents(agent: Agent, context: Omit<LoadContext, 'signal'>): Model {
  const { model } = agent;
  if (agent.loadContent === undefined) return model;
  const load: Load = async (content, request) => await agent.loadContent?.(content, request);
  return {
    profile: model.profile,
    ...(model.gate && { gate: model.gate }),
    ...(model.fallbacks && { fallbacks: model.fallbacks }),
    generate: async (request) => await model.generate(await loadContents(request, load, context)),
  };
}

type Load = (content: ContentReference, context: LoadContext) => Promise<unknown>;

async function loadContents(
  request: ModelRequest,
  load: Load,
  context: Omit<LoadContext, 'signal'>,
): Promise<ModelRequest> {
  const { signal } = request;
  const references = new Map(request.messages.flatMap(listReferences).map((content) => [content.reference, content]));
  if (references.size === 0) return request;
  const parts = new Map<string, unknown>();
  const waiting = references.values();
  const loadNext = async (): Promise<void> => {
    for (const content of waiting) {
      signal.throwIfAborted();
      parts.set(content.reference, await loadPart(content, load, { ...context, signal }));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_LOADS }, loadNext));
  return { ...request, messages: request.messages.map((message) => replaceReferences(message, parts)) };
}

function listReferences(message: Message): ContentReference[] {
  if (message.parts === undefined) return [];
  return readParts(message).flatMap((part) => (part.kind === 'reference' ? [part] : []));
}

/** @throws ModelError: `retry` if `loadContent` throws, so that the turn tries again later */
async function loadPart(content: ContentReference, load: Load, context: LoadContext): Promise<unknown> {
  const { mediaType, name } = content;
  let loaded: unknown;
  try {
    loaded = await load(content, context);
  } catch (error) {
    context.signal.throwIfAborted();
    throw new ModelError('retry', `loadContent threw an error: ${describeThrown(error).name}`, {
      code: 'load_content',
    });
  }
  if (loaded === undefined) return { type: 'text', text: `(content of type ${mediaType} no longer exists)` };
  const type = mediaType.startsWith('image/') ? 'image' : 'file';
  const about = { type, mediaType, ...(name !== undefined && { name }) };
  if (typeof loaded === 'string') return { ...about, url: loaded };
  if (loaded instanceof Uint8Array) return { ...about, data: Buffer.from(loaded).toString('base64') };
  throw new ModelError('fatal', 'loadContent must return bytes, a URL or undefined', { code: 'load_content' });
}

function replaceReferences(message: Message, loaded: ReadonlyMap<string, unknown>): Message {
  if (listReferences(message).length === 0) return message;
  const parts = message.parts?.map((part) =>
    isMapping(part) && typeof part['reference'] === 'string' ? (loaded.get(part['reference']) ?? part) : part,
  );
  return { ...message, ...(parts && { parts }) };
}
