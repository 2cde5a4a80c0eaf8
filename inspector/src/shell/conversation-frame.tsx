import type { ComponentChildren } from 'preact';
import { CopyButton } from '../parts/copy-button.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { exactNumber } from '../parts/figures.tsx';
import { Tag } from '../parts/tag.tsx';
import type { Conversation } from './answers.ts';
import { pathOf } from './client.ts';
import { linkTo } from './router.ts';
import { panels } from './routes.tsx';
import { useAnswer } from './use-answer.ts';

export interface ConversationFrameProps {
  readonly conversation: string;
  /** Pattern of the panel below, which marks its tab. */
  readonly pattern: string;
  readonly children: ComponentChildren;
}

/** The head of a conversation, with its tabs. Panels draw only what is below. */
export function ConversationFrame({ conversation, pattern, children }: ConversationFrameProps) {
  const { value, error, reload } = useAnswer<Conversation>(pathOf('conversations', conversation));
  const tabs = panels.filter(({ tab }) => tab !== undefined);
  return (
    <>
      <div class="conversation-head">
        <nav class="crumbs" aria-label="Path">
          <a href={linkTo()}>Conversations</a> <span aria-hidden="true">/</span>
        </nav>
        <h1 class="mono one-line" title={conversation}>
          {conversation}
        </h1>
        <CopyButton text={conversation} what="the conversation id" />
        {value !== undefined && (
          <p class="conversation-facts">
            <Tag title="Agent">{value.agent}</Tag>
            <span class="number">{exactNumber(value.head)} messages</span>
            <span class="number">{exactNumber(value.turns)} user messages</span>
            <span>
              version <span class="number">{value.size.version}</span>
            </span>
            {value.passId !== undefined && <Tag tone="note">compacting</Tag>}
          </p>
        )}
      </div>
      {tabs.length > 1 && (
        <nav class="tabs" aria-label="Views of the conversation">
          {tabs.map((panel) => (
            <a
              key={panel.pattern}
              href={linkTo(...placeOf(panel.pattern, conversation))}
              aria-current={panel.pattern === pattern ? 'page' : undefined}
            >
              {panel.tab}
            </a>
          ))}
        </nav>
      )}
      {error !== undefined && error.status !== 401 ? <ErrorNote error={error} onRetry={reload} /> : children}
    </>
  );
}

function placeOf(pattern: string, conversation: string): string[] {
  const parts = pattern.split('/').filter((part) => part !== '');
  return parts.map((part) => (part === ':conversation' ? conversation : part));
}
