import { type UseChatHelpers, useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';
import { useEffect, useState } from 'react';
import { loadMessages } from './load-messages.ts';

const RETRY_MS = 500;

export interface DurableChat extends UseChatHelpers<UIMessage> {
  /** The page repairs its messages. A question that is asked now would mix its answer with the one before. */
  readonly isUnsure: boolean;
}

/**
 * The stock `useChat`, which reads on by itself after a lost connection. A message that did not arrive is sent again under
 * its id, and a repeated message begins no second turn. An answer that did not end is streamed again from its start.
 * @param loaded messages of the log when the page was opened
 */
export function useDurableChat(id: string, loaded: readonly UIMessage[]): DurableChat {
  const [isCutOff, setCutOff] = useState(false);
  const [isUnsure, setUnsure] = useState(false);
  /** The last value of `check` after which the page is sure. */
  const [checked, setChecked] = useState('');
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
    if (!isCutOff && !hasFailed) {
      // The server refused the question.
      if (error !== undefined) setUnsure(false);
      return;
    }
    const left = new AbortController();
    setUnsure(true);
    const readOn = async () => {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      const known = await loadMessages(id, left.signal);
      if (left.signal.aborted) return;
      setCutOff(false);
      if (isLost(messages.at(-1), known)) return await sendMessage();
      setMessages(known);
      await resumeStream();
    };
    readOn().catch(() => setUnsure(left.signal.aborted));
    return () => left.abort();
    // The messages are those at the moment of the failure.
  }, [isCutOff, hasFailed, error, id]);

  // The answer may have been neither in the messages nor in the stream, if its turn ended in between. And `useChat` is
  // ready when there is no stream to resume, even if a question is on its way or has failed.
  const check =
    status === 'ready' && !isCutOff ? [isUnsure ? 'unsure' : '', ...findUnanswered(messages)].join(' ') : '';
  useEffect(() => {
    if (check === '') return;
    const left = new AbortController();
    loadMessages(id, left.signal).then(
      (known) => {
        if (isLost(messages.at(-1), known)) return void sendMessage();
        setMessages((shown) => mergeLog(shown, known));
        setUnsure(false);
        setChecked(check);
      },
      () => {
        setUnsure(left.signal.aborted);
        if (!left.signal.aborted) setChecked(check);
      },
    );
    return () => left.abort();
  }, [check, id]);
  return { ...chat, isUnsure: isUnsure || isCutOff || hasFailed || (check !== '' && check !== checked) };
}

/** True if the user's message never reached the server. */
function isLost(last: UIMessage | undefined, known: readonly UIMessage[]): boolean {
  return last?.role === 'user' && !known.some(({ id }) => id === last.id);
}

/** Ids of the user's messages that no answer follows. A turn that failed has none. */
function findUnanswered(messages: readonly UIMessage[]): string[] {
  const asked = messages.filter(({ role }, index) => role === 'user' && messages[index + 1]?.role !== 'assistant');
  return asked.map(({ id }) => id);
}

/** Takes the messages of the log, and keeps what the page has behind them. */
function mergeLog(shown: UIMessage[], known: readonly UIMessage[]): UIMessage[] {
  const logged = new Set(known.map(({ id }) => id));
  const last = shown.findLastIndex(({ id }) => logged.has(id));
  return [...known, ...shown.slice(last + 1)];
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
