interface ErrorNoteProps {
  readonly error: { readonly message: string; readonly code: string };
  readonly onRetry?: () => void;
}

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
