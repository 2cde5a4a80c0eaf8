import { readPart } from '../../../domain/parts.ts';
import { omitRolledBack } from '../../../domain/rolled-back.ts';
import type { LogEntry } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readLogTail } from '../front-end/reads.ts';
import type { AgUiMessage } from './events.ts';
import { nameMessage } from './message-names.ts';

/** So many of the last log entries are shown. */
const LOG_TAIL = 500;

/** Reads the last entries of a thread without those that an edit or a rollback took out. */
export async function readThread(backend: Backend, threadId: string): Promise<LogEntry[]> {
  const log = await readLogTail(backend, threadId, LOG_TAIL);
  return log.length === 0 ? [] : omitRolledBack(log, await backend.client.versions(backend.nameOf(threadId)));
}

/** Writes an entry of the log as a front-end has its message. System messages are not shown. */
export function writeMessage({ seq, turn, message }: LogEntry): AgUiMessage[] {
  const { role, content, toolCalls, toolCallId } = message;
  const nameOf = (rest: string): string => (turn === undefined ? `log-${seq}` : nameMessage(turn, rest));
  switch (role) {
    case 'user':
      return [{ id: nameOf(`input.${seq}`), role, content: writeContent(message) }];
    case 'assistant': {
      const calls = toolCalls?.map(({ id, name, arguments: written }) => {
        return { id, type: 'function', function: { name, arguments: written } };
      });
      return [{ id: nameOf(`log.${seq}`), role, content, ...(calls && { toolCalls: calls }) }];
    }
    case 'tool':
      return toolCallId === undefined ? [] : [{ id: nameOf(toolCallId), role, toolCallId, content }];
    default:
      return [];
  }
}

/** A text, or a list of the text and the files of the message. */
function writeContent({ content, parts = [] }: LogEntry['message']): unknown {
  const files = parts.flatMap(writeFile);
  if (files.length === 0) return content;
  return [...(content === '' ? [] : [{ type: 'text', text: content }]), ...files];
}

function writeFile(given: unknown): object[] {
  const part = readPart(given);
  switch (part.kind) {
    case 'image':
      return [{ type: 'image', source: { type: 'data', value: part.base64, mimeType: part.mediaType } }];
    case 'image_url':
      return [{ type: 'image', source: { type: 'url', value: part.url } }];
    case 'file': {
      const source = { type: 'data', value: part.base64, mimeType: part.mediaType };
      return [{ type: 'document', source, ...writeName(part.name) }];
    }
    case 'file_url': {
      const source = { type: 'url', value: part.url, mimeType: part.mediaType };
      return [{ type: 'document', source, ...writeName(part.name) }];
    }
    default:
      return [];
  }
}

function writeName(filename: string | undefined): object {
  return filename === undefined ? {} : { metadata: { filename } };
}
