import { isMapping } from '../../../domain/parse.ts';
import { type Block, toText, withoutFields } from '../values.ts';
import type { ForeignMessages, HistoryFormat } from './format.ts';
import { listFormat, type MessageList } from './message-lists.ts';

/** `api_conversation_history.json` of Cline, Roo Code and Kilo Code, and sessions of newer versions of Cline. */
export const cline: HistoryFormat = listFormat({
  name: 'cline',
  title: 'a task of Cline',
  recognizes: (messages) => beginsWithTask(messages) || messages.some(isRecorded),
  open: (list) => {
    const task = new TaskReader(list);
    return (message, at, messages) => task.unwrap(message, at, messages);
  },
});

function beginsWithTask([first]: readonly Block[]): boolean {
  if (first?.['role'] !== 'user' || !Array.isArray(first['content'])) return false;
  return first['content'].some((part) => isMapping(part) && /<task>|<environment_details>/.test(toText(part['text'])));
}

function isRecorded({ ts, modelInfo, metrics, content }: Block): boolean {
  return Array.isArray(content) && (typeof ts === 'number' || isMapping(modelInfo) || isMapping(metrics));
}

const CLINE_FIELDS: ReadonlySet<string> = new Set(
  (
    'ts modelInfo metrics agent sessionId isSummary condenseId condenseParent isTruncationMarker truncationId ' +
    'truncationParent'
  ).split(' '),
);

/** Start of a text that answers a tool call. In older versions of Cline, the blocks after this text have the result. */
const ANSWER = /^(?:\[(\w+)(?!\w)[^\n]*\] Result:|Tool \[(\w+)\] was not executed)/;
const DETAILS = '<environment_details>';

class TaskReader {
  readonly #condensed: ReadonlySet<unknown>;
  #calls: readonly Block[] = [];

  constructor({ messages }: MessageList) {
    this.#condensed = new Set(messages.map((message) => (isMapping(message) ? message['condenseParent'] : undefined)));
  }

  unwrap(message: Block, at: string, messages: ForeignMessages): unknown {
    const { role, content, isSummary, condenseId, isTruncationMarker } = message;
    if (isSummary === true && condenseId !== undefined && this.#condensed.has(condenseId))
      return messages.leaveOut('summaries of messages that are in the file', at);
    if (isTruncationMarker === true) return messages.leaveOut('marks of messages that were not sent again', at);
    const kept = withoutFields(message, CLINE_FIELDS);
    if (!Array.isArray(content)) return kept;
    const blocks = content.map(readBlock);
    const answered = role === 'user' ? this.#pairAnswers(blocks, at, messages) : blocks;
    this.#calls = blocks.filter((block): block is Block => isMapping(block) && block['type'] === 'tool_use');
    return { ...kept, content: answered };
  }

  /**
   * Some versions send their tools in the provider's form, but answer the calls with texts, which become results here.
   */
  #pairAnswers(blocks: readonly unknown[], at: string, messages: ForeignMessages): unknown[] {
    const results = new Set(blocks.map((block) => (isMapping(block) ? block['tool_use_id'] : undefined)));
    const open = this.#calls.filter(({ id }) => !results.has(id));
    const paired: unknown[] = [];
    for (let index = 0; index < blocks.length; index += 1) {
      const block = blocks[index];
      const call = open.find(({ name }) => name === nameAnswered(block));
      if (call === undefined) {
        paired.push(block);
        continue;
      }
      open.splice(open.indexOf(call), 1);
      const end = findEnd(blocks, index);
      messages.notes.add('mapped', `${at}.content[${index}]`, 'a text that answers a call is kept as its result');
      paired.push({ type: 'tool_result', tool_use_id: call['id'], content: blocks.slice(index, end) });
      index = end - 1;
    }
    return paired;
  }
}

function nameAnswered(block: unknown): string | undefined {
  const [, answered, refused] = ANSWER.exec(textIn(block)) ?? [];
  return answered ?? refused;
}

function findEnd(blocks: readonly unknown[], start: number): number {
  if (!textIn(blocks[start]).trimEnd().endsWith('Result:')) return start + 1;
  const next = blocks.findIndex(
    (block, index) => index > start && (ANSWER.test(textIn(block)) || textIn(block).startsWith(DETAILS)),
  );
  return next === -1 ? blocks.length : next;
}

function textIn(block: unknown): string {
  return isMapping(block) && block['type'] === 'text' ? toText(block['text']) : '';
}

/** Renames a block to the type that other formats use. The signature of a thought becomes thinking. */
function readBlock(block: unknown): unknown {
  if (!isMapping(block)) return block;
  const { type, path, content } = block;
  if (type === 'thoughtSignature') return { ...block, type: 'thinking' };
  if (type === 'tool_result' && Array.isArray(content)) return { ...block, content: content.map(readBlock) };
  if (type !== 'file' || typeof content !== 'string') return block;
  return { type: 'text', text: `<file_content path="${toText(path)}">\n${content}\n</file_content>` };
}
