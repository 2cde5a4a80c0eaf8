import type { OpenChatTurn, TransportMessage } from '../transport-types.ts';

/** Finds the user's message that a turn answers. The id of an answer is the message's id and the number of the attempt. */
export function findQuestionId(turn: string, turns: readonly Pick<OpenChatTurn, 'turn' | 'messageId'>[]): string {
  const named = turns.find((open) => open.turn === turn)?.messageId;
  return named ?? /^(?<message>.+)\.[1-9]\d{0,8}$/.exec(turn)?.groups?.['message'] ?? `${turn}.input`;
}

/** Answers of a question stand directly behind it. */
export function findAnswerOf<Message extends TransportMessage>(
  messages: readonly Message[],
  question: string,
): Message | undefined {
  const at = messages.findIndex(({ id }) => id === question);
  const next = messages[at + 1];
  return at === -1 || next?.role !== 'assistant' ? undefined : next;
}

/** Puts an answer behind its question, in place of an earlier copy or attempt. Without the question, it comes last. */
export function putAnswer<Message extends TransportMessage>(
  messages: readonly Message[],
  answer: Message,
  question: string,
): Message[] {
  const copy = messages.findIndex(({ id }) => id === answer.id);
  if (copy !== -1) return messages.with(copy, answer);
  const at = messages.findIndex(({ id }) => id === question);
  if (at === -1) return [...messages, answer];
  const hasAttempt = messages[at + 1]?.role === 'assistant';
  return messages.toSpliced(at + 1, hasAttempt ? 1 : 0, answer);
}

export function putQuestion<Message extends TransportMessage>(
  messages: readonly Message[],
  question: Message,
): Message[] {
  const known = messages.findIndex(({ id }) => id === question.id);
  return known === -1 ? [...messages, question] : messages.with(known, question);
}

export interface LoadedPage<Message> {
  readonly messages: readonly Message[];
  readonly before?: string | undefined;
}

/**
 * Takes the newest page of the history. Messages before the page stay. The page has no answers of open turns, so the shown
 * ones stay, too.
 */
export function mergeNewest<Message extends TransportMessage>(
  shown: LoadedPage<Message>,
  page: LoadedPage<Message>,
  turns: readonly OpenChatTurn[],
): LoadedPage<Message> {
  const first = page.messages[0]?.id;
  const at = shown.messages.findIndex(({ id }) => id === first);
  // Without a common message, messages between the two may be missing.
  const earlier = at === -1 ? [] : shown.messages.slice(0, at);
  let messages = [...earlier, ...page.messages];
  for (const { turn, messageId } of turns) {
    const answer = shown.messages.find(({ id, role }) => id === turn && role === 'assistant');
    const hasQuestion = messages.some(({ id }) => id === messageId);
    if (answer !== undefined && hasQuestion) messages = putAnswer(messages, answer, messageId);
  }
  return { messages, before: at === -1 ? page.before : shown.before };
}

/** Puts an earlier page in front. */
export function mergeEarlier<Message extends TransportMessage>(
  shown: LoadedPage<Message>,
  page: LoadedPage<Message>,
): LoadedPage<Message> {
  const known = new Set(shown.messages.map(({ id }) => id));
  const added = page.messages.filter(({ id }) => !known.has(id));
  return { messages: [...added, ...shown.messages], before: page.before };
}

/**
 * Shows the answer that arrives. A stream that begins again sends the answer from its start. Until the stream has as much
 * as the page had before, the page goes on to show that, and nothing flickers.
 */
export function showLive<Message extends TransportMessage>(
  messages: readonly Message[],
  live: Message | undefined,
  question: string,
): readonly Message[] {
  if (live === undefined || live.role !== 'assistant') return messages;
  const held = messages.find(({ id }) => id === live.id);
  if (held !== undefined && isShorter(live, held)) return messages;
  return putAnswer(messages, live, question);
}

function isShorter(live: TransportMessage, held: TransportMessage): boolean {
  return live.parts.length < held.parts.length || countCharacters(live) < countCharacters(held);
}

function countCharacters({ parts }: TransportMessage): number {
  return parts.reduce((sum, part) => sum + ((part as { readonly text?: string }).text ?? '').length, 0);
}

/** Text of a message, without its files. */
export function readText({ parts }: TransportMessage): string {
  return parts
    .flatMap((part) => (part.type === 'text' ? [(part as { readonly text?: string }).text ?? ''] : []))
    .join('\n');
}

/** Adds files in front of the text, as `sendMessage` of the AI SDK orders them. */
export function addFiles<Message extends TransportMessage>(
  message: Message,
  files: readonly { readonly type: string }[],
): Message {
  return files.length === 0 ? message : { ...message, parts: [...files, ...message.parts] };
}

/** Writes a user's message. A page names the type of its own messages. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of messages is known to the page only
export function writeQuestion<Message extends TransportMessage>(
  id: string,
  text: string,
  files: readonly { readonly type: string }[] = [],
): Message {
  const parts = [...files, ...(text === '' ? [] : [{ type: 'text', text }])];
  return { id, role: 'user', parts } as unknown as Message;
}
