import { useEffect, useMemo, useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy-button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { exactNumber, shortBytes, Time } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { splitText } from '../parts/text-pieces.ts';
import type { MessagePage } from '../shell/answers.ts';
import { linkTo } from '../shell/router.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { LEFT_WORDS } from './entry-row.tsx';
import type { OutlineEntry } from './outline-pages.ts';

interface MessageDialogProps {
  readonly conversation: string;
  readonly seq: number;
  readonly entry: OutlineEntry | undefined;
  readonly onMove: (by: -1 | 1) => void;
  readonly onClose: () => void;
}

type Item = MessagePage['items'][number];

export function MessageDialog({ conversation, seq, entry, onMove, onClose }: MessageDialogProps) {
  const answer = useAnswer<MessagePage>(['conversations', conversation, 'messages'], {
    after: seq - 1,
    limit: 1,
  });
  const moveByKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'j' || event.key === 'ArrowRight') onMove(1);
    else if (event.key === 'k' || event.key === 'ArrowLeft') onMove(-1);
  };
  useEffect(() => {
    addEventListener('keydown', moveByKey);
    return () => removeEventListener('keydown', moveByKey);
  });
  const actions = (
    <>
      <button type="button" class="button" onClick={() => onMove(-1)}>
        Previous <kbd>k</kbd>
      </button>
      <button type="button" class="button" onClick={() => onMove(1)}>
        Next <kbd>j</kbd>
      </button>
    </>
  );
  return (
    <Dialog title={`Message ${exactNumber(seq)}`} actions={actions} onClose={onClose}>
      <Loaded answer={answer} what="the message">
        {({ items: [item] }) =>
          item === undefined ? (
            <EmptyState title="The log has no such message" />
          ) : (
            <Content key={seq} conversation={conversation} item={item} entry={entry} />
          )
        }
      </Loaded>
    </Dialog>
  );
}

interface ContentProps {
  readonly conversation: string;
  readonly item: Item;
  readonly entry: OutlineEntry | undefined;
}

function Content({ conversation, item, entry }: ContentProps) {
  const { message } = item;
  return (
    <div class="message">
      <Facts conversation={conversation} item={item} entry={entry} />
      {message.content !== '' && <LongText text={message.content} what="the text of the message" />}
      {message.toolCalls?.map(({ id, name, arguments: given }) => (
        <section key={id} class="message-call">
          <h3>
            calls <code>{name}</code> <span class="message-id mono">{id}</span>
          </h3>
          <LongText text={given} what={`the arguments of ${name}`} />
        </section>
      ))}
      {message.parts !== undefined && <Raw title="Parts that are not plain text" value={message.parts} />}
      {message.raw !== undefined && <Raw title="Original item of the provider" value={message.raw} />}
    </div>
  );
}

function Facts({ conversation, item, entry }: ContentProps) {
  const { message, tokens, bytes, turn, at } = item;
  return (
    <p class="message-facts">
      <span>{message.role}</span>
      <span class="number">{exactNumber(tokens)} tokens</span>
      {bytes !== undefined && <span class="number">{shortBytes(bytes)}</span>}
      {at !== undefined && <Time at={at} />}
      {message.toolCallId !== undefined && (
        <span>
          answers <code>{message.toolCallId}</code>
        </span>
      )}
      {message.isError === true && <span class="is-bad">error</span>}
      {message.stopped === true && <span class="is-bad">stopped</span>}
      {turn !== undefined && (
        <a href={linkTo('c', conversation, 't', turn)}>
          turn <span class="mono">{turn}</span>
        </a>
      )}
      {entry?.left !== undefined && (
        <span class="is-bad">left the context with its turn: {LEFT_WORDS[entry.left]}</span>
      )}
      {entry !== undefined && entry.state !== 'live' && (
        <span>
          {entry.state}
          {entry.by !== undefined && (
            <>
              {' by '}
              <a href={linkTo('c', conversation, 'v', entry.by)}>version {entry.by}</a>
            </>
          )}
        </span>
      )}
    </p>
  );
}

function Raw({ title, value }: { readonly title: string; readonly value: unknown }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="message-raw" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && <LongText text={JSON.stringify(value, undefined, 2)} what="the JSON" />}
    </details>
  );
}

interface LongTextProps {
  readonly text: string;
  readonly what: string;
}

const SHOWN_CHARACTERS = 50_000;

/** The browser lays out only the pieces in view. As a whole, one line of a million characters took 7 s. */
function LongText({ text, what }: LongTextProps) {
  const [isWhole, setWhole] = useState(text.length <= SHOWN_CHARACTERS);
  const pieces = useMemo(() => splitText(isWhole ? text : text.slice(0, SHOWN_CHARACTERS)), [text, isWhole]);
  return (
    <div class="long-text">
      <CopyButton text={text} what={what} />
      <pre class="plain-text">
        {pieces.map((piece, index) => (
          <span key={index} class="long-text-piece" dir="auto">
            {piece}
          </span>
        ))}
      </pre>
      {!isWhole && (
        <button type="button" class="button" onClick={() => setWhole(true)}>
          Show all {exactNumber(text.length)} characters
        </button>
      )}
    </div>
  );
}
