import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { EmptyState } from '../parts/empty-state.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { Loading } from '../parts/loaded.tsx';
import { ConversationFrame } from './conversation-frame.tsx';
import { accessKey, forgetKey, keyWanted } from './key.ts';
import { KeyForm } from './key-form.tsx';
import { linkTo, matchPlace, place } from './router.ts';
import { type Panel, panels } from './routes.tsx';
import { ThemeSwitch } from './theme.tsx';

/** The whole page: its head, and the panel that the hash names. */
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

/** The hash belongs to the router, so a link to an element moves the focus itself. */
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

interface LoadedPanelProps {
  readonly panel: Panel;
  readonly params: Record<string, string>;
}

/** Components whose code has been loaded, so that a panel shows at once the next time. */
const known = new Map<Panel, ComponentType<Record<string, string>>>();

function LoadedPanel({ panel, params }: LoadedPanelProps) {
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
