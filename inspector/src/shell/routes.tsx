import type { ComponentType } from 'preact';
import type { ParamsOf } from './router.ts';

/** A page of the inspector. Its code is loaded when a person first opens the page. */
export interface Panel {
  /** Form of the hash. With `:conversation`, the shell draws the head of the conversation above the panel. */
  readonly pattern: string;
  /** Name in the title of the document, and for a screen reader. */
  readonly title: string;
  /** Label of the tab under the head of a conversation. Absent: the panel is reached by links only. */
  readonly tab?: string;
  readonly load: () => Promise<ComponentType<Record<string, string>>>;
}

interface PanelFacts {
  readonly title: string;
  readonly tab?: string;
}

/** The component gets the parameters of the pattern as props, e.g. `{ conversation, version }`, all of them texts. */
function definePanel<Pattern extends string>(
  pattern: Pattern,
  facts: PanelFacts,
  load: () => Promise<ComponentType<ParamsOf<Pattern>>>,
): Panel {
  return { pattern, ...facts, load: load as Panel['load'] };
}

/** Every page. A new panel is a line here. */
export const panels: readonly Panel[] = [
  definePanel(
    '/',
    { title: 'Conversations' },
    async () => (await import('../list/conversation-list.tsx')).ConversationList,
  ),
  definePanel(
    '/c/:conversation',
    { title: 'Context', tab: 'Context' },
    async () => (await import('../timeline/context-panel.tsx')).ContextPanel,
  ),
  definePanel('/fleet', { title: 'Fleet' }, async () => (await import('../fleet/fleet-panel.tsx')).FleetPanel),
];
