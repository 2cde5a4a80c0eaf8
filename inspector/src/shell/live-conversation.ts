import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { Conversation, OpenTurns } from './answers.ts';
import { type AnswerError, pathOf, readEvents } from './client.ts';
import { accessKey } from './key.ts';
import { useAnswer } from './use-answer.ts';
import { usePulse } from './use-pulse.ts';

/** A conversation as it is now. */
export interface LiveConversation {
  readonly description: Conversation | undefined;
  readonly openTurns: OpenTurns | undefined;
  readonly error: AnswerError | undefined;
  /** Changes with each event of the conversation, and whenever its log grows. Panels read again when it changes. */
  readonly change: string;
  readonly reload: () => void;
}

/** A running turn appends messages without events, so the head is asked for as well. */
const PULSE_MS = 2_000;
const OPEN_TURNS = 5;
/** Pauses before a cut stream is opened again, in ms. The last one repeats. */
const PAUSES_MS = [500, 1_000, 2_000, 5_000, 15_000];

/** Follows a conversation while it is on the page, with one stream and two small requests every two seconds. */
export function useLiveConversation(conversation: string): LiveConversation {
  const path = pathOf('conversations', conversation);
  const description = useAnswer<Conversation>(path);
  const openTurns = useAnswer<OpenTurns>(`${path}/turns`, { limit: OPEN_TURNS });
  const [events, setEvents] = useState(0);
  const reload = (): void => {
    description.reload();
    openTurns.reload();
  };
  usePulse(reload, PULSE_MS);
  const exists = description.value !== undefined;
  const key = accessKey.value;
  useEffect(() => {
    if (!exists) return undefined;
    const leaving = new AbortController();
    void follow(`${path}/events`, leaving.signal, () => {
      setEvents((before) => before + 1);
      reload();
    });
    return () => leaving.abort();
  }, [path, exists, key]);
  const { head = 0, size } = description.value ?? {};
  return {
    description: description.value,
    openTurns: openTurns.value,
    error: description.error ?? openTurns.error,
    change: [head, size?.version ?? 0, events].join('/'),
    reload,
  };
}

/** Follows a stream of events, and continues behind the last event after a cut. */
async function follow(path: string, signal: AbortSignal, onEvent: () => void): Promise<void> {
  let after: string | undefined;
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      for await (const { id, type, data } of readEvents(path, { after, signal })) {
        failures = 0;
        after = id ?? after;
        if (type !== 'message' && Object.keys(data).length > 0) onEvent();
      }
    } catch {
      // The requests of every two seconds show what is wrong.
    }
    await pause(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)] ?? 0, signal);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

export const LiveConversationContext = createContext<LiveConversation | undefined>(undefined);

/** The conversation of the page, for a panel below its head. */
export function useConversation(): LiveConversation {
  const live = useContext(LiveConversationContext);
  if (live === undefined) throw new Error('the panel is not below the head of a conversation');
  return live;
}
