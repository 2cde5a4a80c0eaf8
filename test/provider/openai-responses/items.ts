import { isObject, type JsonObject, readObjects, readText } from '../json.ts';

export interface PlacedItem {
  readonly item: JsonObject;
  /** Type of the item. Messages may lack it. */
  readonly type: string;
  readonly id: string;
  readonly index: number;
}

export function readItems({ input }: JsonObject): PlacedItem[] {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : readObjects(input);
  return items.map((item, index) => ({
    item,
    type: readText(item['type']) || (item['role'] === undefined ? '' : 'message'),
    id: readText(item['id']),
    index,
  }));
}

export function isAssistant({ item, type }: PlacedItem): boolean {
  return type === 'message' && item['role'] === 'assistant';
}

/** Types of calls whose output the client sends. The provider's own tools need no output from the client. */
const ANSWERED_CALLS: ReadonlySet<string> = new Set([
  'function_call',
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
]);

export function isCall({ type }: PlacedItem): boolean {
  return ANSWERED_CALLS.has(type);
}

export function isOutput({ type }: PlacedItem): boolean {
  return type.endsWith('_output') && ANSWERED_CALLS.has(type.slice(0, -'_output'.length));
}

export function callIdOf({ item }: PlacedItem): string {
  return readText(item['call_id']);
}

/** Returns the texts and images of a message or of a tool output, in any of the allowed forms. */
export function readParts(content: unknown): readonly JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? readObjects(content) : isObject(content) ? [content] : [];
}
