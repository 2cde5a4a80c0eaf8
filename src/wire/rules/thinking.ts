import { readRawItems } from '../../domain/raw-items.ts';
import { isThinking } from '../kept-items.ts';
import { NO_ORIGIN, type Rendered, type Violation, type WireRequest } from '../wire-request.ts';

/**
 * A8: thinking is sent under the version, system texts and tools that it was written under, and to the model that wrote it. No
 * body shows that; the marks tell whose it is, and its message what it was written under.
 */
export function checkThinking(
  { messages, model, version }: Pick<WireRequest, 'messages' | 'model' | 'version'>,
  { body, marks }: Rendered<unknown>,
): Violation[] {
  return listBlocks(body).flatMap(({ block, path, place, index }) => {
    const origins = marks.origins[place] ?? [];
    const message = messages[origins[index] ?? origins[0] ?? NO_ORIGIN];
    if (!isThinking(block) || message === undefined) return [];
    const raw = readRawItems(message);
    const isItsOwn = raw !== undefined && raw.format === marks.format && raw.model === model;
    const isSameVersion = version === undefined || raw?.version === undefined || raw.version === version;
    const isSamePrefix = raw?.prefix === undefined || raw.prefix === marks.prefix;
    if (isItsOwn && isSameVersion && isSamePrefix) return [];
    return [{ rule: 'A8', path, message: 'thinking that was written under another version, prefix or model' }];
  });
}

interface PlacedBlock {
  readonly block: { readonly type?: unknown };
  readonly path: string;
  readonly place: number;
  readonly index: number;
}

/** Of Anthropic the blocks of each message, of Responses the items. */
function listBlocks(body: unknown): PlacedBlock[] {
  const { messages = [], input = [] } = body as { messages?: { content: unknown }[]; input?: object[] };
  return [
    ...messages.flatMap(({ content }, place) =>
      (Array.isArray(content) ? content : []).map((block: object, index) => {
        return { block, path: `messages[${place}].content[${index}]`, place, index };
      }),
    ),
    ...input.map((block, place) => ({ block, path: `input[${place}]`, place, index: 0 })),
  ];
}
