import type { ComponentChildren } from 'preact';

interface EmptyStateProps {
  /** Sentence without a full stop that names the absent things. */
  readonly title: string;
  /** The next thing to do. */
  readonly children?: ComponentChildren;
}

/** Takes the place of a list that has no entries. */
export function EmptyState({ title, children }: EmptyStateProps) {
  return (
    <div class="empty-state">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="empty-hint">{children}</div>}
    </div>
  );
}
