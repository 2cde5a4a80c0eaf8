import '../version/version.css';
import './diff.css';
import { useMemo } from 'preact/hooks';
import { EmptyState } from '../parts/empty-state.tsx';
import { exactNumber, Tokens } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import type { Version, Versions } from '../shell/answers.ts';
import { useConversation, useLiveAnswer } from '../shell/live-conversation.ts';
import { linkTo } from '../shell/router.ts';
import { type Answer, useAnswer } from '../shell/use-answer.ts';
import { sumRuns } from '../trial/plan-strip.ts';
import { Strip } from '../trial/strip.tsx';
import { ChangeButtons } from '../version/change-buttons.tsx';
import { ChangeList, type Diff } from './change-list.tsx';
import { versionRuns } from './version-strip.ts';
import { VersionSelect } from './versions-panel.tsx';

interface DiffPanelProps {
  readonly conversation: string;
  readonly before: string;
  readonly after: string;
}

export function DiffPanel({ conversation, before: one, after: other }: DiffPanelProps) {
  const [before, after] = [Number(one), Number(other)];
  const versions = useLiveAnswer<Versions>(['conversations', conversation, 'versions']);
  const state = useConversation().description;
  const diff = useAnswer<Diff>(['conversations', conversation, 'diff'], { before, after });
  const kept = versions.value?.versions ?? [];
  const show = (from: number, to: number): void => {
    location.hash = linkTo('c', conversation, 'diff', from, to);
  };
  const numbers = [...kept.map(({ number }) => number).toReversed(), 0];
  return (
    <div class="diff">
      <header class="panel-head">
        <h2>
          From version {before} to version {after}
        </h2>
        <nav class="panel-links" aria-label="These versions">
          <a href={linkTo('c', conversation, 'v', before)}>Version {before}</a>
          <a href={linkTo('c', conversation, 'v', after)}>Version {after}</a>
        </nav>
      </header>
      <div class="compare">
        <VersionSelect
          label="Before"
          value={before}
          numbers={withNumber(numbers, before)}
          onChange={(number) => show(number, after)}
        />
        <VersionSelect
          label="After"
          value={after}
          numbers={withNumber(numbers, after)}
          onChange={(number) => show(before, number)}
        />
        <button type="button" class="button" onClick={() => show(after, before)}>
          Swap
        </button>
      </div>
      <ChangeButtons
        conversation={conversation}
        live={versions.value === undefined ? undefined : (kept.at(-1)?.number ?? 0)}
        changes={[
          { kind: 'restore', version: before, newer: 'keep' },
          { kind: 'fork', version: before, to: `${conversation}-v${before}`.slice(-128) },
        ]}
      />
      {state !== undefined && versions.value !== undefined && (
        <div class="card strips">
          {[before, after].map((number) => (
            <VersionStrip key={number} number={number} versions={kept} head={state.head} />
          ))}
          <Legend />
        </div>
      )}
      <Changes conversation={conversation} diff={diff} before={before} after={after} />
    </div>
  );
}

function withNumber(numbers: readonly number[], number: number): readonly number[] {
  return numbers.includes(number) ? numbers : [number, ...numbers];
}

interface VersionStripProps {
  readonly number: number;
  readonly versions: readonly Version[];
  readonly head: number;
}

function VersionStrip({ number, versions, head }: VersionStripProps) {
  const version = versions.find((kept) => kept.number === number);
  const runs = useMemo(() => versionRuns(version?.segments ?? [], head), [version, head]);
  const summary = [...sumRuns(runs)]
    .map(([kind, { messages }]) => `${exactNumber(messages)} ${FATES[kind] ?? kind}`)
    .join(', ');
  return (
    <div class="version-strip">
      <Strip name={`Version ${number}`} summary={summary} runs={runs} weigh={({ messages }) => messages} />
      {version !== undefined && (
        <p class="hint">
          <Tokens value={version.tokensAfter} unit=" tokens" /> when it was made. {summary}.
        </p>
      )}
    </div>
  );
}

const FATES: Readonly<Record<string, string>> = {
  raw: 'as in the log',
  summary: 'in summaries',
  masked: 'masked',
  clipped: 'clipped',
  excerpt: 'as excerpts',
  evicted: 'archived',
};

const KINDS = { raw: 'as in the log', summary: 'summary', masked: 'masked or clipped', evicted: 'archived' } as const;

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      {Object.entries(KINDS).map(([kind, name]) => (
        <li key={kind}>
          <span class={`legend-key fate-${kind}`} /> {name}
        </li>
      ))}
    </ul>
  );
}

interface ChangesProps {
  readonly conversation: string;
  readonly diff: Answer<Diff>;
  readonly before: number;
  readonly after: number;
}

function Changes({ conversation, diff, before, after }: ChangesProps) {
  return (
    <Loaded answer={diff} what="the changes">
      {({ changes }) =>
        changes.length === 0 ? (
          <EmptyState title="The two versions show the same messages" />
        ) : (
          <ChangeList conversation={conversation} changes={changes} before={before} after={after} />
        )
      }
    </Loaded>
  );
}
