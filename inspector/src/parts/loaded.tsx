import type { ComponentChildren } from 'preact';
import type { Answer } from '../shell/use-answer.ts';
import { ErrorNote } from './error-note.tsx';

interface LoadedProps<Value> {
  readonly answer: Answer<Value>;
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
}

/** Shows an error above the last good value. */
export function Loaded<Value>({ answer: { value, error, reload }, what, children }: LoadedProps<Value>) {
  return (
    <>
      {error !== undefined && <ErrorNote error={error} onRetry={reload} />}
      {value !== undefined && children(value)}
      {value === undefined && error === undefined && <Loading what={what} />}
    </>
  );
}

/** Shows placeholder lines, but only after a moment, so that a fast answer does not flicker. */
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
