import type { AnswerError } from '../shell/client.ts';

export interface ErrorNoteProps {
  readonly error: Pick<AnswerError, 'message' | 'code'>;
  /** Absent: another try would change nothing. */
  readonly onRetry?: () => void;
}

/** Shows an error in the words of the server, with its code. */
export function ErrorNote({ error, onRetry }: ErrorNoteProps) {
  return (
    <div class="error-note" role="alert">
      <p class="plain-text">{error.message}</p>
      <p class="error-foot">
        <code>{error.code}</code>
        {onRetry !== undefined && (
          <button type="button" class="button" onClick={onRetry}>
            Try again
          </button>
        )}
      </p>
    </div>
  );
}
