import { PRELIMINARY_OUTPUT } from '../../../domain/tool-notes.ts';
import type { DataPart, ProgressPart } from '../../client/index.ts';
import { readJsonOrText } from '../front-end/call-names.ts';

type NoteChunk = { readonly type: string } & Readonly<Record<string, unknown>>;

/** A transient chunk reaches `onData` of a page, and does not enter its messages. */
export function addProgress({ call: toolCallId, text, done, total }: Omit<ProgressPart, 'id'>): NoteChunk {
  return { type: 'data-progress', id: toolCallId, data: { toolCallId, text, done, total }, transient: true };
}

/** A page replaces a value by a later one of the same type and id. The history of a chat has the same parts. */
export function addData({ call, name, key, data }: Pick<DataPart, 'call' | 'name' | 'key' | 'data'>): NoteChunk {
  if (name === PRELIMINARY_OUTPUT) {
    return { type: 'tool-output-available', toolCallId: call, output: data, preliminary: true, dynamic: true };
  }
  return { type: `data-${name}`, id: key === undefined ? call : `${call}/${key}`, data };
}

interface Result {
  readonly content: string;
  readonly parts?: readonly unknown[] | undefined;
}

/** Output of a call as a page shows it: the JSON or text of the tool, or `{content, parts}` for one with images. */
export function showOutput({ content, parts }: Result): unknown {
  return parts === undefined ? readJsonOrText(content) : { content, parts };
}
