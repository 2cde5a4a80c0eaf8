interface ErrorNoteProps {
  readonly error: { readonly message: string; readonly code: string };
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
