import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Conversation, OpenTurns } from './answers.ts';
import { followEvents, type Path, type Query, type TurnfoldError } from './client.ts';
import { accessKey } from './key.tsx';
import { type Answer, useAnswer, usePulse } from './use-answer.ts';

interface LiveConversation {
  readonly description: Conversation | undefined;
  readonly openTurns: OpenTurns | undefined;
  readonly error: TurnfoldError | undefined;
  /** A text that changes with each event, and whenever the log has grown. */
  readonly change: string;
  readonly reload: () => void;
}

/**
 * Time between two reads of the conversation. A running turn appends messages without events, so events do not suffice.
 */
const PULSE_MS = 2_000;
const OPEN_TURNS = 5;
export function useLiveConversation(conversation: string): LiveConversation {
  const path = ['conversations', conversation];
  const description = useAnswer<Conversation>(path);
  const openTurns = useAnswer<OpenTurns>([...path, 'turns'], { limit: OPEN_TURNS });
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
    const follow = async (): Promise<void> => {
      for await (const { type, data } of followEvents([...path, 'events'], leaving.signal)) {
        if (type === 'message' || Object.keys(data).length === 0) continue;
        setEvents((before) => before + 1);
        reload();
      }
    };
    void follow();
    return () => leaving.abort();
  }, [conversation, exists, key]);
  const { head = 0, size } = description.value ?? {};
  return {
    description: description.value,
    openTurns: openTurns.value,
    error: description.error ?? openTurns.error,
    change: [head, size?.version ?? 0, events].join('/'),
    reload,
  };
}

export const LiveConversationContext = createContext<LiveConversation | undefined>(undefined);

export function useConversation(): LiveConversation {
  const live = useContext(LiveConversationContext);
  if (live === undefined) throw new Error('a panel needs LiveConversationContext around it');
  return live;
}

/** Reads a route of the shown conversation, and again after each change of the conversation. */
export function useLiveAnswer<Value>(path: Path, query?: Query): Answer<Value> {
  const answer = useAnswer<Value>(path, query);
  const { change } = useConversation();
  const seen = useRef(change);
  useEffect(() => {
    if (seen.current === change) return;
    seen.current = change;
    answer.reload();
  }, [change]);
  return answer;
}
