import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { exactNumber } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import type { MessagePage } from '../shell/answers.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { MessageView } from './message-view.tsx';

const PAGE_MESSAGES = 40;
/** Number of messages shown above a chosen message. */
const LEAD_MESSAGES = 3;

/** A message that the person chose. Each choice is a new object, so that a repeated choice scrolls again. */
export interface ChosenSource {
  readonly seq: number;
  readonly mark?: string;
}

interface SourceListProps {
  readonly conversation: string;
  readonly from: number;
  readonly to: number;
  readonly marks?: readonly string[];
  readonly chosen?: ChosenSource | undefined;
}

/** Reads a page at a time, because a range may have thousands of messages. */
export function SourceList({ conversation, from, to, marks, chosen }: SourceListProps) {
  const [start, setStart] = useState(from);
  const page = useAnswer<MessagePage>(['conversations', conversation, 'messages'], {
    after: start - 1,
    limit: Math.min(PAGE_MESSAGES, to - start + 1),
  });
  const last = page.value?.items.at(-1)?.to ?? start;
  const target = useRef<HTMLElement>(null);
  useEffect(() => setStart(from), [conversation, from, to]);
  useEffect(() => {
    if (chosen !== undefined && (chosen.seq < start || chosen.seq > last)) {
      setStart(Math.min(to, Math.max(from, chosen.seq - LEAD_MESSAGES)));
    }
  }, [chosen]);
  useEffect(() => {
    target.current?.focus({ preventScroll: true });
    target.current?.scrollIntoView({ block: 'nearest' });
  }, [chosen, page.value]);
  return (
    <div class="sources">
      <div class="sources-bar">
        <p class="number" role="status">
          Messages {exactNumber(start)}–{exactNumber(last)} of {exactNumber(from)}–{exactNumber(to)}
        </p>
        <button
          type="button"
          class="button"
          disabled={start <= from}
          onClick={() => setStart(Math.max(from, start - PAGE_MESSAGES))}
        >
          Earlier
        </button>
        <button type="button" class="button" disabled={last >= to} onClick={() => setStart(last + 1)}>
          Later
        </button>
      </div>
      <div class="sources-list" role="region" aria-label={`Messages ${from} to ${to}`} tabIndex={0}>
        <Loaded answer={page} what="the messages">
          {({ items }) =>
            items.map((item) => {
              const isChosen = chosen?.seq === item.from;
              return (
                <MessageView
                  key={item.from}
                  conversation={conversation}
                  item={item}
                  marks={marks}
                  chosen={isChosen ? chosen.mark : undefined}
                  isChosen={isChosen}
                  {...(isChosen && { ref: target })}
                />
              );
            })
          }
        </Loaded>
      </div>
    </div>
  );
}

interface SourceDialogProps {
  readonly conversation: string;
  readonly range: { readonly from: number; readonly to: number };
  readonly onClose: () => void;
}

export function SourceDialog({ conversation, range: { from, to }, onClose }: SourceDialogProps) {
  return (
    <Dialog title={`Messages ${from}–${to}`} onClose={onClose}>
      <SourceList conversation={conversation} from={from} to={to} />
    </Dialog>
  );
}
