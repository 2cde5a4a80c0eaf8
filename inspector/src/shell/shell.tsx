import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy-button.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { counted } from '../parts/figures.tsx';
import { Loading } from '../parts/loaded.tsx';
import { Tag, type Tone } from '../parts/tag.tsx';
import type { Conversation, OpenTurns } from './answers.ts';
import { accessKey, forgetKey, KeyForm, keyWanted } from './key.tsx';
import { LiveConversationContext, useLiveConversation } from './live-conversation.ts';
import { linkTo, matchPlace, place } from './router.ts';
import { type Panel, panels } from './routes.tsx';
import { ThemeSwitch } from './theme.tsx';

export function Shell() {
  return (
    <>
      <a class="skip-link" href="#main" onClick={focusMain}>
        Skip to the content
      </a>
      <header class="shell-head">
        <a class="brand" href={linkTo()}>
          turnfold <span class="brand-part">inspector</span>
        </a>
        <nav class="shell-nav" aria-label="Pages">
          {panels.filter(isTopPanel).map(({ pattern, title }) => (
            <a key={pattern} href={`#${pattern}`} aria-current={isCurrent(pattern) ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        {accessKey.value !== '' && (
          <button type="button" class="button" onClick={forgetKey}>
            Forget the key
          </button>
        )}
        <ThemeSwitch />
      </header>
      <main id="main" class="shell-main" tabIndex={-1}>
        {keyWanted.value === undefined ? <CurrentPanel /> : <KeyForm why={keyWanted.value} />}
      </main>
    </>
  );
}

/** Moves the focus to the main part. An ordinary link would change the hash, which belongs to the router. */
function focusMain(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}

function isTopPanel({ pattern }: Panel): boolean {
  return !pattern.includes(':');
}

function isCurrent(pattern: string): boolean {
  const parts = place.value;
  return matchPlace(pattern, parts) !== undefined || (pattern === '/' && parts[0] === 'c');
}

function findPanel(parts: readonly string[]): { panel: Panel; params: Record<string, string> } | undefined {
  for (const panel of panels) {
    const params = matchPlace(panel.pattern, parts);
    if (params !== undefined) return { panel, params };
  }
  return undefined;
}

function CurrentPanel() {
  const found = findPanel(place.value);
  const { conversation } = found?.params ?? {};
  const title = found?.panel.title ?? 'Not found';
  useEffect(() => {
    document.title = `${conversation === undefined ? '' : `${conversation} · `}${title} · turnfold`;
  }, [conversation, title]);
  if (found === undefined) {
    return (
      <EmptyState title="This page does not exist">
        <a href={linkTo()}>Show all conversations</a>
      </EmptyState>
    );
  }
  const { panel, params } = found;
  const content = <LoadedPanel key={place.value.join('/')} panel={panel} params={params} />;
  if (conversation === undefined) return content;
  return (
    <ConversationFrame key={conversation} conversation={conversation} panel={panel}>
      {content}
    </ConversationFrame>
  );
}

const known = new Map<Panel, ComponentType<Record<string, string>>>();

function LoadedPanel({ panel, params }: { readonly panel: Panel; readonly params: Record<string, string> }) {
  const [Component, setComponent] = useState(() => known.get(panel));
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    let isHere = true;
    const load = async (): Promise<void> => {
      try {
        const loaded = await panel.load();
        known.set(panel, loaded);
        if (isHere) setComponent(() => loaded);
      } catch {
        if (isHere) setBroken(true);
      }
    };
    void load();
    return () => {
      isHere = false;
    };
  }, [panel]);
  if (Component !== undefined) return <Component {...params} />;
  if (!isBroken) return <Loading what={panel.title} />;
  const error = {
    code: 'unreachable',
    message: 'The code of this page could not be loaded. Load the page again.',
  } as const;
  return <ErrorNote error={error} onRetry={() => location.reload()} />;
}

interface ConversationFrameProps {
  readonly conversation: string;
  readonly panel: Panel;
  readonly children: ComponentChildren;
}

function ConversationFrame({ conversation, panel: shown, children }: ConversationFrameProps) {
  const live = useLiveConversation(conversation);
  const { description, openTurns, error, reload } = live;
  const tabs = panels.filter(({ tab }) => tab !== undefined);
  const isMissing = error !== undefined && description === undefined;
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
              href={`#${panel.pattern.replace(':conversation', encodeURIComponent(conversation))}`}
              aria-current={panel === shown ? 'page' : panel.pattern === shown.under ? 'true' : undefined}
            >
              {panel.tab}
            </a>
          ))}
        </nav>
      )}
      {error !== undefined && <ErrorNote error={error} onRetry={reload} />}
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
