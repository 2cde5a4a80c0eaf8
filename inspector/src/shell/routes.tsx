import type { ComponentType } from 'preact';
import type { ParamsOf } from './router.ts';

/**
 * A page of the inspector. Its code is loaded when a person first opens the page. `vite.config.ts` groups the pages
 * into files.
 */
export interface Panel {
  /** Pattern of the URL's hash. With `:conversation`, the head of the conversation stands above the panel. */
  readonly pattern: string;
  readonly title: string;
  /** Text of the panel's tab. Absent: only links lead to the panel. */
  readonly tab?: string;
  /** For a panel without a tab: pattern of the panel whose tab is marked. */
  readonly under?: string;
  readonly load: () => Promise<ComponentType<Record<string, string>>>;
}

/** Links a pattern to its component. The component gets the parameters of the pattern as props, all of them strings. */
function definePanel<Pattern extends string>(
  pattern: Pattern,
  facts: Pick<Panel, 'title' | 'tab' | 'under'>,
  load: () => Promise<ComponentType<ParamsOf<Pattern>>>,
): Panel {
  return { pattern, ...facts, load: load as Panel['load'] };
}

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
  definePanel(
    '/c/:conversation/versions',
    { title: 'Versions', tab: 'Versions' },
    async () => (await import('../diff/versions-panel.tsx')).VersionsPanel,
  ),
  definePanel(
    '/c/:conversation/v/:version',
    { title: 'Version', under: '/c/:conversation/versions' },
    async () => (await import('../version/version-panel.tsx')).VersionPanel,
  ),
  definePanel(
    '/c/:conversation/diff/:before/:after',
    { title: 'Changes', under: '/c/:conversation/versions' },
    async () => (await import('../diff/diff-panel.tsx')).DiffPanel,
  ),
  definePanel(
    '/c/:conversation/proposal',
    { title: 'Proposal', under: '/c/:conversation/versions' },
    async () => (await import('../proposal/proposal-panel.tsx')).ProposalPanel,
  ),
  definePanel(
    '/c/:conversation/trial',
    { title: 'What if', tab: 'What if' },
    async () => (await import('../trial/trial-panel.tsx')).TrialPanel,
  ),
  definePanel(
    '/c/:conversation/turns',
    { title: 'Turns', tab: 'Turns' },
    async () => (await import('../turn/turns-panel.tsx')).TurnsPanel,
  ),
  definePanel(
    '/c/:conversation/t/:turn',
    { title: 'Turn', under: '/c/:conversation/turns' },
    async () => (await import('../turn/turn-panel.tsx')).TurnPanel,
  ),
  definePanel('/fleet', { title: 'Fleet' }, async () => (await import('../fleet/fleet-panel.tsx')).FleetPanel),
];
