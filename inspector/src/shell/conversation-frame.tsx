import type { ComponentChildren } from 'preact';
import { CopyButton } from '../parts/copy-button.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { counted } from '../parts/figures.tsx';
import { Tag, type Tone } from '../parts/tag.tsx';
import type { Conversation, OpenTurns } from './answers.ts';
import { LiveConversationContext, useLiveConversation } from './live-conversation.ts';
import { linkTo } from './router.ts';
import { type Panel, panels } from './routes.tsx';

export interface ConversationFrameProps {
  readonly conversation: string;
  /** The panel below, which marks its tab. */
  readonly panel: Panel;
  readonly children: ComponentChildren;
}

/** The head of a conversation, with its tabs. Panels draw only what is below. */
export function ConversationFrame({ conversation, panel: shown, children }: ConversationFrameProps) {
  const live = useLiveConversation(conversation);
  const { description, openTurns, error, reload } = live;
  const tabs = panels.filter(({ tab }) => tab !== undefined);
  const isMissing = error !== undefined && error.status !== 401 && description === undefined;
  return (
    <LiveConversationContext.Provider value={live}>
      <div class="conversation-head">
        <nav class="crumbs" aria-label="Path">
          <a href={linkTo()}>Conversations</a> <span aria-hidden="true">/</span>
        </nav>
        <div class="conversation-name">
          <h1 class="mono one-line" title={conversation}>
            {conversation}
          </h1>
          <CopyButton text={conversation} what="the conversation id" />
        </div>
        {description !== undefined && <Facts description={description} openTurns={openTurns} />}
      </div>
      {tabs.length > 1 && (
        <nav class="tabs" aria-label="Views of the conversation">
          {tabs.map((panel) => (
            <a
              key={panel.pattern}
              href={linkTo(...placeOf(panel.pattern, conversation))}
              aria-current={panel === shown ? 'page' : panel.pattern === shown.under ? 'true' : undefined}
            >
              {panel.tab}
            </a>
          ))}
        </nav>
      )}
      {error !== undefined && error.status !== 401 && <ErrorNote error={error} onRetry={reload} />}
      {!isMissing && children}
    </LiveConversationContext.Provider>
  );
}

interface FactsProps {
  readonly description: Conversation;
  readonly openTurns: OpenTurns | undefined;
}

const TONES: Readonly<Partial<Record<string, Tone>>> = { running: 'good', waiting: 'warn', queued: 'accent' };

function Facts({ description: { conversation, agent, head, turns, size, passId }, openTurns }: FactsProps) {
  const [first] = openTurns?.turns ?? [];
  const more = (openTurns?.mailbox ?? 0) + (openTurns?.scheduled ?? 0) - 1;
  return (
    <p class="conversation-facts" aria-live="polite">
      {first !== undefined && (
        <a href={linkTo('c', conversation, 't', first.turn)} title={`Turn ${first.turn}`}>
          <Tag tone={TONES[first.state] ?? 'plain'}>
            {first.waiting === undefined ? `turn ${first.state}` : `turn waits for ${first.waiting.for}`}
            {more > 0 && `, ${more} more`}
          </Tag>
        </a>
      )}
      {passId !== undefined && <Tag tone="note">compacting</Tag>}
      <Tag title="Agent">{agent}</Tag>
      <span class="number">{counted(head, 'message')}</span>
      <span class="number">{counted(turns, 'turn')}</span>
      <span>
        version <span class="number">{size.version}</span>
      </span>
    </p>
  );
}

function placeOf(pattern: string, conversation: string): string[] {
  const parts = pattern.split('/').filter((part) => part !== '');
  return parts.map((part) => (part === ':conversation' ? conversation : part));
}
