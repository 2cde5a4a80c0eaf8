import { useEffect, useRef } from 'preact/hooks';
import { useConversation } from '../shell/live-conversation.ts';
import { type Answer, useAnswer } from '../shell/use-answer.ts';

/** Reads a route of the shown conversation, and again after each change of the conversation. */
export function useLiveAnswer<Value>(path: string): Answer<Value> {
  const answer = useAnswer<Value>(path);
  const { change } = useConversation();
  const seen = useRef(change);
  useEffect(() => {
    if (seen.current === change) return;
    seen.current = change;
    answer.reload();
  }, [change]);
  return answer;
}
