import { useState } from 'preact/hooks';
import { shortBytes } from '../parts/figures.tsx';
import { markText } from './marked-text.ts';

/** Characters that are shown at first, and that each click adds. A line of 1 MB at once would block the page. */
const FIRST = 3_000;
const MORE = 30_000;
const FEW = 1_000;

interface ShownTextProps {
  readonly text: string;
  readonly marks?: readonly string[] | undefined;
  readonly chosen?: string | undefined;
}

export function ShownText({ text, marks = [], chosen }: ShownTextProps) {
  const [shown, setShown] = useState(() => Math.max(FIRST, endOfMark(text, chosen)));
  const end = endOfText(text, Math.max(shown, endOfMark(text, chosen)));
  const words = chosen === undefined ? marks : [...marks, chosen];
  return (
    <>
      <p class="plain-text" dir="auto">
        {markText(text.slice(0, end), words).map(({ text: piece, mark }, index) =>
          mark === undefined ? (
            piece
          ) : (
            <mark key={index} class={mark === chosen ? 'mark mark-chosen' : 'mark'}>
              {piece}
            </mark>
          ),
        )}
        {end < text.length && '…'}
      </p>
      {end < text.length && (
        <button type="button" class="button more-text" onClick={() => setShown(end + MORE)}>
          Show more ({shortBytes(text.length - end)} left)
        </button>
      )}
    </>
  );
}

/** Returns the length of the text up to the chosen identifier, with some text behind it. */
function endOfMark(text: string, chosen: string | undefined): number {
  const place = chosen === undefined ? -1 : text.indexOf(chosen);
  return place < FIRST ? 0 : Math.min(place + (chosen?.length ?? 0) + 200, place + MORE);
}

/** Returns where to cut the text. Never splits a surrogate pair. */
function endOfText(text: string, wanted: number): number {
  if (wanted + FEW >= text.length) return text.length;
  return /[\uD800-\uDBFF]/.test(text.charAt(wanted - 1)) ? wanted - 1 : wanted;
}
