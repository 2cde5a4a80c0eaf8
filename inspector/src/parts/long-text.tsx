import { useMemo, useState } from 'preact/hooks';
import { CopyButton } from './copy-button.tsx';
import { exactNumber } from './figures.tsx';
import { splitText } from './text-pieces.ts';

export interface LongTextProps {
  readonly text: string;
  /** Name of the text for the copy button, e.g. `the text of the message`. */
  readonly what: string;
}

/** Characters that are shown at once. */
const SHOWN_CHARACTERS = 50_000;

/**
 * A text of any length, as text. It is drawn in pieces, and the browser lays out only the pieces in view. As a whole, one
 * line of a million characters took 7 s.
 */
export function LongText({ text, what }: LongTextProps) {
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
