import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy-button.tsx';
import { exactNumber } from '../parts/figures.tsx';
import { findLine, jsonLines, jsonPieces, shortenLine } from './json-lines.ts';

/** Height of a line in px, as in the style sheet, and lines beyond the visible ones. */
const LINE_PX = 18;
const OVERSCAN = 20;
const VISIBLE = 60;

export interface JsonViewProps {
  readonly value: unknown;
  /** Name of the value, for a screen reader: `the request`. */
  readonly what: string;
}

/** A JSON value of any size. Only the visible lines are elements, so the page has a search of its own. */
export function JsonView({ value, what }: JsonViewProps) {
  const lines = useMemo(() => jsonLines(value), [value]);
  const frame = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [found, setFound] = useState<number>();
  const [wanted, setWanted] = useState('');
  useEffect(() => {
    setFound(undefined);
    frame.current?.scrollTo({ top: 0 });
  }, [lines]);
  const findNext = (event: Event): void => {
    event.preventDefault();
    const line = findLine(lines, wanted.trim(), found === undefined ? 0 : found + 1);
    setFound(line);
    frame.current?.scrollTo({ top: (line - 4) * LINE_PX });
  };
  const start = Math.max(0, first - OVERSCAN);
  const shown = lines.slice(start, first + VISIBLE + OVERSCAN);
  return (
    <div class="json card">
      <form class="json-bar" role="search" onSubmit={findNext}>
        <input
          type="search"
          value={wanted}
          onInput={({ currentTarget }) => setWanted(currentTarget.value)}
          placeholder="Find in the JSON"
          aria-label={`Find in ${what}`}
        />
        <button type="submit" class="button">
          Next
        </button>
        <p class="hint number" role="status">
          {found === -1 ? 'Not found' : `${exactNumber(lines.length)} lines`}
          {found !== undefined && found >= 0 && `, at line ${exactNumber(found + 1)}`}
        </p>
        <CopyButton text={lines.join('\n')} what={what} />
      </form>
      <div
        ref={frame}
        class="json-frame"
        role="region"
        aria-label={what}
        tabIndex={0}
        onScroll={({ currentTarget }) => setFirst(Math.floor(currentTarget.scrollTop / LINE_PX))}
      >
        <div class="json-space" style={{ blockSize: `${lines.length * LINE_PX}px` }}>
          <pre class="json-lines" style={{ insetBlockStart: `${start * LINE_PX}px` }}>
            {shown.map((line, index) => (
              <JsonLine key={start + index} line={line} isFound={start + index === found} />
            ))}
          </pre>
        </div>
      </div>
    </div>
  );
}

function JsonLine({ line, isFound }: { readonly line: string; readonly isFound: boolean }) {
  return (
    <div class={isFound ? 'json-line is-found' : 'json-line'}>
      {jsonPieces(shortenLine(line)).map(({ text, kind }, index) =>
        kind === 'mark' ? (
          text
        ) : (
          <span key={index} class={`json-${kind}`}>
            {text}
          </span>
        ),
      )}
    </div>
  );
}
