import { fieldError } from '../../../domain/errors.ts';
import type { Message } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import { readBlock } from '../blocks.ts';
import { CallNames, MessageDraft, type ReadingContext, resultOf } from '../message-draft.ts';
import type { HistoryNotes } from '../notes.ts';
import { type Block, idOf, toText } from '../values.ts';
import { isCallItem, isResultItem, readItemCall, readItemOutput } from './responses-calls.ts';

/** Types of items that are left out: without content for a model, or readable only by the provider. */
const LEFT_OUT: ReadonlyMap<string, string> = new Map([
  ['item_reference', 'references to items that the file does not hold'],
  ['mcp_list_tools', 'lists of the tools of a server'],
  ['mcp_approval_request', 'requests for an approval'],
  ['mcp_approval_response', 'approvals of a call'],
  ['compaction', 'encrypted summaries'],
  ['compaction_summary', 'encrypted summaries'],
  ['context_compaction', 'encrypted summaries'],
  ['compaction_trigger', 'requests for a compaction'],
  ['ghost_snapshot', 'snapshots of files'],
  ['additional_tools', 'lists of tools'],
]);

const ROLES: ReadonlyMap<string, 'system' | 'user' | 'assistant'> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['assistant', 'assistant'],
]);

interface ItemMessage {
  readonly message: Message;
  readonly at: string;
}

interface OpenAnswer {
  readonly draft: MessageDraft;
  readonly at: string;
  hasText: boolean;
  hasCalls: boolean;
}

/** Joins the items of an answer (reasoning, text, parallel calls) to one message. */
export class ItemReader {
  readonly #context: ReadingContext;
  readonly #read: ItemMessage[] = [];
  readonly #unnamed: { readonly type: string; readonly id: string }[] = [];
  #draft: OpenAnswer | undefined;

  constructor(notes: HistoryNotes) {
    this.#context = { notes, callNames: new CallNames() };
  }

  /** @throws invalid_input with the place, for an item of an unknown type */
  enter(item: unknown, at: string): void {
    if (typeof item === 'string') return this.#readMessage({ role: 'user', content: item }, at);
    if (!isMapping(item)) throw fieldError('invalid_input', at, 'expected an item with a type');
    const type = toText(item['type'] ?? (item['role'] === undefined ? '' : 'message'));
    if (type === 'message') return this.#readMessage(item, at);
    if (type === 'reasoning') return this.#readReasoning(item, at);
    if (type === 'agent_message') return this.#readAgentMessage(item, at);
    if (isCallItem(type)) return this.#readCall(type, item, at);
    if (isResultItem(type)) return this.#readOutput(item, at);
    const what = LEFT_OUT.get(type);
    if (what === undefined) {
      const named = type === '' ? 'the item has no type' : `items of type ${type} are not known`;
      throw fieldError('invalid_input', `${at}.type`, `${named}. Remove the item`);
    }
    this.#context.notes.add('left_out', at, `${what} are left out`);
  }

  finish(): ItemMessage[] {
    this.#endAnswer();
    return this.#read;
  }

  #readMessage(item: Block, at: string): void {
    const role = ROLES.get(toText(item['role'] ?? 'assistant'));
    if (role === undefined) {
      throw fieldError('invalid_input', `${at}.role`, 'expected system, developer, user or assistant');
    }
    const isAnswer = role === 'assistant';
    const open = this.#draft;
    if (!isAnswer || open?.hasText === true || open?.hasCalls === true) this.#endAnswer();
    const draft = isAnswer ? this.#openAnswer(at).draft : new MessageDraft(role, this.#context);
    this.#readContent(item['content'], draft, at);
    if (isAnswer && this.#draft !== undefined) this.#draft.hasText = true;
    else for (const message of draft.finish()) this.#read.push({ message, at });
  }

  #readContent(content: unknown, draft: MessageDraft, at: string): void {
    const { notes } = this.#context;
    if (!Array.isArray(content)) return draft.addText(toText(content));
    content.forEach((block, index) => readBlock(block, { draft, notes, at: `${at}.content[${index}]` }));
  }

  /** Reads a message of another agent. Encrypted texts are left out, because only the provider can read them. */
  #readAgentMessage({ author, content }: Block, at: string): void {
    this.#endAnswer();
    const { notes } = this.#context;
    const draft = new MessageDraft('user', this.#context);
    const blocks: readonly unknown[] = Array.isArray(content) ? content : [{ type: 'text', text: content }];
    for (const [index, block] of blocks.entries()) {
      const place = `${at}.content[${index}]`;
      if (isMapping(block) && block['type'] === 'encrypted_content')
        notes.add('left_out', place, 'encrypted messages of another agent are left out');
      else readBlock(block, { draft, notes, at: place });
    }
    for (const message of draft.finish(false)) {
      notes.add('mapped', at, 'a message of another agent is kept as a user message');
      this.#read.push({ message: { ...message, content: `${toText(author)}: ${message.content}` }, at });
    }
  }

  #readReasoning(item: Block, at: string): void {
    if (this.#draft?.hasText === true || this.#draft?.hasCalls === true) this.#endAnswer();
    this.#openAnswer(at).draft.addReasoning(item);
  }

  #readCall(type: string, item: Block, at: string): void {
    const { result, ...call } = readItemCall(type, item);
    const answer = this.#openAnswer(at);
    const id = idOf(item['call_id']) ?? idOf(item['id']);
    const named = id ?? this.#context.callNames.nameCall(call.name);
    if (idOf(item['call_id']) === undefined) this.#unnamed.push({ type: type.replace(/_call$/, ''), id: named });
    answer.draft.addCall({ ...call, id: named });
    answer.hasCalls = true;
    if (result === undefined) return;
    this.#endAnswer();
    this.#read.push({ message: resultOf(named, result), at });
  }

  #readOutput(item: Block, at: string): void {
    this.#endAnswer();
    const own = idOf(item['call_id']) ?? this.#nameResult(item) ?? idOf(item['id']);
    const id = own ?? this.#context.callNames.nameResult(undefined);
    if (id === undefined) throw fieldError('invalid_input', `${at}.call_id`, 'expected the id of a call');
    this.#read.push({ message: resultOf(id, readItemOutput(item)), at });
  }

  /** Finds the call of a result whose ids differ, as in calls that the provider ran. */
  #nameResult({ type: given }: Block): string | undefined {
    const type = toText(given).replace(/(?:_call)?_output$/, '');
    const at = this.#unnamed.findIndex((call) => call.type === type);
    return at < 0 ? undefined : this.#unnamed.splice(at, 1)[0]?.id;
  }

  #openAnswer(at: string): OpenAnswer {
    this.#draft ??= {
      draft: new MessageDraft('assistant', this.#context, 'openai-responses'),
      at,
      hasText: false,
      hasCalls: false,
    };
    return this.#draft;
  }

  #endAnswer(): void {
    if (this.#draft === undefined) return;
    const { draft, at } = this.#draft;
    this.#draft = undefined;
    for (const message of draft.finish()) this.#read.push({ message, at });
  }
}
