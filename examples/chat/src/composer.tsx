import type { UIMessage } from 'ai';
import { type FormEvent, type KeyboardEvent, useLayoutEffect, useRef, useState } from 'react';
import type { DurableChat } from 'turnfold/chat/react';

interface ComposerProps {
  readonly chat: DurableChat<UIMessage>;
  readonly text: string;
  readonly setText: (text: string) => void;
}

/** Writes messages at any time. A message that is sent while an answer arrives waits, or joins the running turn. */
export function Composer({ chat, text, setText }: ComposerProps) {
  const [files, setFiles] = useState<readonly File[]>([]);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const isBusy = chat.status === 'queued' || chat.status === 'answering' || chat.status === 'waiting';
  // The server takes files only with a text.
  const isEmpty = text.trim() === '';

  // Grows with its text. The browser's own `field-sizing` is not everywhere.
  useLayoutEffect(() => {
    const { current } = field;
    if (current === null) return;
    current.style.height = 'auto';
    current.style.height = `${current.scrollHeight + 2}px`;
  }, [text]);

  const send = (onBusy: 'enqueue' | 'steer') => {
    if (isEmpty) return;
    void chat.send({ text, files, onBusy });
    setText('');
    setFiles([]);
    field.current?.focus();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send('enqueue');
  };
  const press = (event: KeyboardEvent) => {
    // Enter also ends the input of a Chinese or Japanese word.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send('enqueue');
  };
  return (
    <form onSubmit={submit}>
      {files.length > 0 && <Chosen files={files} remove={(file) => setFiles(files.filter((one) => one !== file))} />}
      <textarea
        ref={field}
        rows={1}
        aria-label="Message"
        placeholder={isBusy ? 'Write the next message' : 'Ask something'}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={press}
      />
      <div className="actions">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            setFiles([...files, ...(event.target.files ?? [])]);
            event.target.value = '';
          }}
        />
        <button type="button" className="quiet" title="Add files" onClick={() => picker.current?.click()}>
          + File
        </button>
        <span className="space" />
        {isBusy && (
          <button type="button" className="stop" onClick={() => void chat.stop()}>
            Stop
          </button>
        )}
        {chat.status === 'answering' && !isEmpty && (
          <button type="button" title="The message joins the answer that arrives" onClick={() => send('steer')}>
            Add to answer
          </button>
        )}
        <button type="submit" className="main" disabled={isEmpty}>
          {isBusy ? 'Queue' : 'Send'}
        </button>
      </div>
    </form>
  );
}

function Chosen({ files, remove }: { readonly files: readonly File[]; readonly remove: (file: File) => void }) {
  return (
    <ul className="files">
      {files.map((file) => (
        <li key={`${file.name} ${file.lastModified}`}>
          {file.name}
          <button type="button" className="quiet" aria-label={`Remove ${file.name}`} onClick={() => remove(file)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
