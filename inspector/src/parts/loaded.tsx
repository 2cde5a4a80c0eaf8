import type { ComponentChildren } from 'preact';
import type { Answer } from '../shell/use-answer.ts';
import { ErrorNote } from './error-note.tsx';

interface LoadedProps<Value> {
  readonly answer: Answer<Value>;
  /** Name of the loaded thing, for a screen reader: `the versions`. */
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
}

/** Shows an answer, its error above the last good value, or that it is loading. */
export function Loaded<Value>({ answer: { value, error, reload }, what, children }: LoadedProps<Value>) {
  return (
    <>
      {error !== undefined && <ErrorNote error={error} onRetry={reload} />}
      {value !== undefined && children(value)}
      {value === undefined && error === undefined && <Loading what={what} />}
    </>
  );
}

/** Grey lines where an answer will be. They appear after a moment, so that a fast answer does not flicker. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading {what}</span>
      <span class="loading-line" />
      <span class="loading-line" />
      <span class="loading-line" />
    </div>
  );
}
