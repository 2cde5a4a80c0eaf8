import { useEffect, useState } from 'preact/hooks';
import { AnswerError, pathOf, readEvents } from '../shell/client.ts';
import { accessKey } from '../shell/key.ts';
import { addPart, type ShownItem, type TurnPart } from './turn-parts.ts';

export interface TurnStream {
  readonly items: readonly ShownItem[];
  /** `open` while the turn may go on, `lost` while the page connects again, `ended` once the turn has settled. */
  readonly state: 'open' | 'lost' | 'ended';
  readonly error: AnswerError | undefined;
}

const START: TurnStream = { items: [], state: 'open', error: undefined };

/** Pause in ms before the page connects again. */
const AGAIN_MS = 1_000;

/**
 * Follows a turn from its first part, and connects again behind the last one. Parts that arrive together are shown
 * together, because a long turn has thousands.
 */
export function useTurnStream(conversation: string, turn: string, onChange: () => void): TurnStream {
  const [stream, setStream] = useState(START);
  const key = accessKey.value;
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    setStream(START);
    let items: readonly ShownItem[] = [];
    let frame: number | undefined;
    const show = (): void => {
      frame = undefined;
      setStream({ items, state: 'open', error: undefined });
    };
    const follow = async (): Promise<void> => {
      let after: string | undefined;
      while (!signal.aborted) {
        try {
          const path = pathOf('conversations', conversation, 'turns', turn, 'events');
          for await (const { id, type, data } of readEvents(path, { after, signal })) {
            after = id ?? after;
            if (type === 'end') {
              setStream({ items, state: 'ended', error: undefined });
              onChange();
              return;
            }
            items = addPart(items, { ...data, type } as TurnPart);
            frame ??= requestAnimationFrame(show);
            if (!PIECES.has(type)) onChange();
          }
        } catch (error) {
          if (signal.aborted) return;
          if (!(error instanceof AnswerError) || !isOutage(error)) {
            setStream({ items, state: 'ended', error: error as AnswerError });
            return;
          }
        }
        setStream({ items, state: 'lost', error: undefined });
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    void follow();
    return () => {
      leaving.abort();
      if (frame !== undefined) cancelAnimationFrame(frame);
    };
  }, [conversation, turn, key]);
  return stream;
}

const PIECES = new Set(['text', 'reasoning', 'tool-call-start', 'tool-call-arguments']);

function isOutage({ status }: AnswerError): boolean {
  return status === 0 || status === 429 || status >= 500;
}
