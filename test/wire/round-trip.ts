import type { Message } from '../../src/domain/message.ts';
import { readParts } from '../../src/domain/parts.ts';
import { keptRawItems } from '../../src/wire/raw-items.ts';
import type { Marks, WireRequest } from '../../src/wire/wire-request.ts';
import type { WireMessages } from './restore-messages.ts';

/**
 * Comparable contents of a body: order, pairs, texts, calls, parts, errors, raw items. Pins and provider ids are left
 * out, because they are never sent.
 */
export function sayRead({ system, tools, messages }: WireMessages): unknown {
  return { system, tools: tools.map(({ name }) => name), messages: messages.map(say) };
}

/** Comparable contents of a request rendered with these marks. Replaced messages come back unchanged. */
export function sayRequest({ system, tools, messages, ...request }: WireRequest, marks: Marks): unknown {
  return {
    system: system.trim() === '' ? '' : system.toWellFormed(),
    tools: tools.map(({ name }) => name),
    messages: messages.map((message, origin) =>
      say(marks.replaced.has(origin) ? message : { ...message, raw: sentRaw(message, origin, request, marks) }),
    ),
  };
}

/** Raw items come back if they were sent, without thinking that no longer holds. */
function sentRaw(
  message: Message,
  origin: number,
  { model, version }: Pick<WireRequest, 'model' | 'version'>,
  { raw, format, prefix }: Marks,
): unknown {
  const items = raw.has(origin) ? keptRawItems(message, { format, model, version, prefix }) : undefined;
  return items === undefined || items.length === 0 ? undefined : { items };
}

function say(message: Message): unknown {
  const { role, content, toolCalls = [], toolCallId, isError = false, raw } = message;
  return {
    role,
    content,
    parts: readParts(message),
    calls: toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: parseLoosely(given) })),
    toolCallId,
    isError,
    items: (raw as { items: unknown } | undefined)?.items,
  };
}

function parseLoosely(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}
