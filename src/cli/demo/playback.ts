import { z } from 'zod';
import type { Tool } from '../../domain/agent.ts';
import type { Message, ToolCall } from '../../domain/message.ts';
import type { ConversationLine } from '../../wire/histories/conversation-line.ts';
import type { ScriptedTurn } from './demo-agent.ts';

/** Repeats the inputs, tool calls and results of a recorded conversation. */
export interface Playback {
  readonly system: string;
  /** Messages before the first user message. */
  readonly opening: readonly Message[];
  readonly turns: readonly ScriptedTurn[];
  readonly tools: readonly Tool[];
}

interface RecordedTurn {
  readonly ask: string;
  readonly answers: Message[];
}

export function playBack({ messages }: ConversationLine): Playback {
  const system = messages
    .filter((message) => message.role === 'system')
    .map((message) => message.content)
    .join('\n\n');
  const others = messages.filter((message) => message.role !== 'system' && message.role !== 'tool');
  const start = others.findIndex((message) => message.role === 'user');
  const recorded: RecordedTurn[] = [];
  for (const message of start === -1 ? [] : others.slice(start)) {
    if (message.role === 'user') recorded.push({ ask: message.content, answers: [] });
    else recorded.at(-1)?.answers.push(message);
  }
  return {
    system,
    opening: others.slice(0, Math.max(0, start)).filter((message) => message.toolCalls === undefined),
    turns: recorded.map(scriptTurn),
    tools: recordTools(messages),
  };
}

/**
 * Scripts a recorded turn. Text before a round of calls accompanies the calls. Text after the last round is the answer.
 */
function scriptTurn({ ask, answers }: RecordedTurn): ScriptedTurn {
  const rounds: ToolCall[][] = [];
  const remarks: string[] = [];
  let texts: string[] = [];
  for (const { content, toolCalls } of answers) {
    if (content !== '') texts.push(content);
    if (toolCalls === undefined) continue;
    rounds.push(toolCalls);
    remarks.push(texts.join('\n\n'));
    texts = [];
  }
  const closing = texts.length === 0 ? '(no answer was recorded)' : texts.join('\n\n');
  return { ask: ask === '' ? '(empty)' : ask, rounds, remarks, answer: () => closing };
}

/** Creates a tool for each recorded name. A call that was recorded several times returns its results in their order. */
function recordTools(messages: readonly Message[]): Tool[] {
  const results = new Map(
    messages.flatMap((message) => (message.toolCallId === undefined ? [] : [[message.toolCallId, message]])),
  );
  const byCall = new Map<string, Message[]>();
  const names = new Set<string>();
  for (const call of messages.flatMap((message) => message.toolCalls ?? [])) {
    names.add(call.name);
    const result = results.get(call.id);
    const key = callKey(call.name, call.arguments);
    if (result !== undefined) byCall.set(key, [...(byCall.get(key) ?? []), result]);
  }
  return [...names].map((name) => ({
    name,
    description: `As recorded: ${name}`,
    input: z.looseObject({}),
    run: async (input: unknown) => {
      const queue = byCall.get(callKey(name, JSON.stringify(input))) ?? [];
      const result = queue.length > 1 ? queue.shift() : queue[0];
      if (result === undefined) throw new Error('no result was recorded for this call');
      return { content: result.content, isError: result.isError === true };
    },
  }));
}

/** Names a call by its tool and arguments. A tool gets parsed arguments, so white space does not count. */
function callKey(name: string, json: string): string {
  try {
    return `${name}\n${JSON.stringify(JSON.parse(json))}`;
  } catch {
    return `${name}\n${json}`;
  }
}
