import type { Message } from '../../domain/message.ts';
import { readRawItems } from '../../domain/raw-items.ts';
import { forEachInSlices, type Sliced } from '../../domain/sliced.ts';
import { isThinking } from '../kept-items.ts';
import { type Marks, NO_ORIGIN, type Rendered, type Violation, type WireRequest } from '../wire-request.ts';

/**
 * A8: thinking is sent under the version, system texts and tools that it was written under, and to the model that wrote it. No
 * body shows that; the marks tell whose it is, and its message what it was written under.
 */
export function* checkThinking(
  request: Pick<WireRequest, 'messages' | 'model' | 'version'>,
  { body, marks }: Rendered<unknown>,
): Sliced<Violation[]> {
  const violations: Violation[] = [];
  const look = (block: { readonly type?: unknown }, { path, place, index }: Place): void => {
    if (!isThinking(block)) return;
    const origins = marks.origins[place] ?? [];
    const message = request.messages[origins[index] ?? origins[0] ?? NO_ORIGIN];
    if (message === undefined || isItsOwn(message, request, marks)) return;
    violations.push({
      rule: 'A8',
      path: path(),
      message: 'thinking that was written under another version, prefix or model',
    });
  };
  // Of Anthropic the blocks of each message, of Responses the items.
  const { messages = [], input = [] } = body as { messages?: { content: unknown }[]; input?: object[] };
  yield* forEachInSlices(messages, ({ content }, place) => {
    const blocks: readonly object[] = Array.isArray(content) ? content : [];
    for (const [index, block] of blocks.entries()) {
      look(block, { path: () => `messages[${place}].content[${index}]`, place, index });
    }
  });
  yield* forEachInSlices(input, (block, place) => look(block, { path: () => `input[${place}]`, place, index: 0 }));
  return violations;
}

interface Place {
  /** written for a violation alone */
  readonly path: () => string;
  readonly place: number;
  readonly index: number;
}

function isItsOwn(
  message: Message,
  { model, version }: Pick<WireRequest, 'model' | 'version'>,
  { format, prefix }: Marks,
): boolean {
  const raw = readRawItems(message);
  if (raw === undefined || raw.format !== format || raw.model !== model) return false;
  const isSameVersion = version === undefined || raw.version === undefined || raw.version === version;
  return isSameVersion && (raw.prefix === undefined || raw.prefix === prefix);
}
