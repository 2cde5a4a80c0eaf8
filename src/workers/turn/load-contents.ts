import type { Agent, LoadContext } from '../../domain/agent.ts';
import type { Message } from '../../domain/message.ts';
import { type Model, ModelError, type ModelRequest } from '../../domain/model.ts';
import { isMapping } from '../../domain/parse.ts';
import { type ContentReference, readParts } from '../../domain/parts.ts';
import { describeThrown } from '../../domain/thrown.ts';

/** Contents that are loaded at the same time for one request. */
const PARALLEL_LOADS = 8;

/**
 * Returns the agent's model, which replaces references in a request by their contents. The log keeps the references, so
 * large contents are neither in Redis nor read with each step.
 */
export function withContents(agent: Agent, context: Omit<LoadContext, 'signal'>): Model {
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
  const waiting = [...references.values()];
  const loadNext = async (): Promise<void> => {
    for (let content = waiting.shift(); content !== undefined; content = waiting.shift()) {
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

/** @throws ModelError if the content cannot be loaded now, so that the turn tries again later */
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
