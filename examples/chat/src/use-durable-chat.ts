import { type UseChatHelpers, useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';
import { useEffect, useState } from 'react';
import { loadMessages } from './load-messages.ts';

const RETRY_MS = 500;

/**
 * The stock `useChat`, which reads on by itself after a lost connection. A message that did not arrive is sent again under
 * its id, and a repeated message begins no second turn. An answer that did not end is streamed again from its start.
 * @param loaded messages of the log when the page was opened
 */
export function useDurableChat(id: string, loaded: readonly UIMessage[]): UseChatHelpers<UIMessage> {
  const [isCutOff, setCutOff] = useState(false);
  const chat = useChat({
    id,
    messages: [...loaded],
    resume: true,
    transport: new DefaultChatTransport({ api: '/v1/chat', headers: { 'x-ai-sdk-version': '7' } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    // A stream that a server or proxy ends early has no reason for its end.
    onFinish: ({ isAbort, isError, finishReason, message, messages }) => {
      if (isAbort || isError) return;
      const { id: answered } = message;
      const hasQuestion = messages.some(({ role, id: asked }) => role === 'user' && answered.startsWith(`${asked}.`));
      if (finishReason === undefined || !hasQuestion) setCutOff(true);
    },
  });
  const { error, messages, status, sendMessage, setMessages, resumeStream } = chat;
  const hasFailed = error !== undefined && !isRefusal(error);

  useEffect(() => {
    if (!isCutOff && !hasFailed) return;
    const left = new AbortController();
    const readOn = async () => {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      const known = await loadMessages(id, left.signal);
      if (left.signal.aborted) return;
      setCutOff(false);
      const last = messages.at(-1);
      if (last?.role === 'user' && !known.some((message) => message.id === last.id)) return await sendMessage();
      setMessages(known);
      await resumeStream();
    };
    readOn().catch(() => undefined);
    return () => left.abort();
    // The messages are those at the moment of the failure.
  }, [isCutOff, hasFailed, error, id]);

  // If the user asks again before an answer was replayed, the stream has the answer to the new question alone.
  const unanswered = status === 'ready' ? findUnanswered(messages).join(' ') : '';
  useEffect(() => {
    if (unanswered === '') return;
    const left = new AbortController();
    loadMessages(id, left.signal).then(
      (known) => setMessages((shown) => addAnswers(shown, known)),
      () => undefined,
    );
    return () => left.abort();
  }, [unanswered, id]);
  return chat;
}

/** Ids of the user's messages that no answer follows. A turn that failed has none. */
function findUnanswered(messages: readonly UIMessage[]): string[] {
  const asked = messages.filter(({ role }, index) => role === 'user' && messages[index + 1]?.role !== 'assistant');
  return asked.map(({ id }) => id);
}

/** Adds the answers of the log that the page lacks, each behind its question. */
function addAnswers(shown: UIMessage[], known: readonly UIMessage[]): UIMessage[] {
  const unanswered = new Set(findUnanswered(shown));
  return shown.flatMap((message) => {
    const at = known.findIndex(({ id }) => unanswered.has(id) && id === message.id);
    const next = at === -1 ? undefined : known[at + 1];
    return next?.role === 'assistant' && !shown.some(({ id }) => id === next.id) ? [message, next] : [message];
  });
}

/** A problem of the caller, e.g. a message that is too large. The same request would be refused again. */
function isRefusal({ message }: Error): boolean {
  try {
    const { status } = JSON.parse(message) as { status?: number };
    return status !== undefined && status < 500 && status !== 429;
  } catch {
    return false;
  }
}
