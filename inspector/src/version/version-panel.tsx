import './version.css';
import { useMemo } from 'preact/hooks';
import type { ReportAnswer } from '../../../src/api/contract/inspection.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { Loaded } from '../parts/loaded.tsx';
import type { Versions } from '../shell/answers.ts';
import { useLiveAnswer } from '../shell/live-conversation.ts';
import { linkTo, replaceSettings, settings } from '../shell/router.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { ChangeButtons } from './change-buttons.tsx';
import { RequestView } from './request-view.tsx';
import { SummaryPart } from './summary-part.tsx';
import { VersionFacts } from './version-facts.tsx';

const VIEWS = { summaries: 'Summaries', request: 'Request' } as const;
type View = keyof typeof VIEWS;
const views = Object.keys(VIEWS) as View[];

export function VersionPanel({ conversation, version }: { readonly conversation: string; readonly version: string }) {
  const number = Number(version);
  const versions = useLiveAnswer<Versions>(['conversations', conversation, 'versions']);
  const wanted = settings.value.get('show');
  const view = views.find((name) => name === wanted) ?? 'summaries';
  if (!Number.isInteger(number) || number < 0) {
    return <EmptyState title={`“${version}” is not the number of a version`} />;
  }
  const live = versions.value === undefined ? undefined : (versions.value.versions.at(-1)?.number ?? 0);
  return (
    <div class="version">
      <VersionHead conversation={conversation} number={number} versions={versions.value} />
      <ChangeButtons
        conversation={conversation}
        live={live}
        changes={[
          ...(number === live ? [] : [{ kind: 'restore', version: number, newer: 'keep' } as const]),
          { kind: 'fork', version: number, to: `${conversation}-v${number}`.slice(-128) },
        ]}
      />
      <nav class="subtabs" aria-label="Views of the version">
        {views.map((name) => (
          <button
            key={name}
            type="button"
            class="subtab"
            aria-current={name === view ? 'true' : undefined}
            onClick={() => replaceSettings({ show: name })}
          >
            {VIEWS[name]}
          </button>
        ))}
      </nav>
      {view === 'request' ? (
        <RequestView conversation={conversation} version={number} />
      ) : (
        <Summaries conversation={conversation} number={number} />
      )}
    </div>
  );
}

interface VersionHeadProps {
  readonly conversation: string;
  readonly number: number;
  readonly versions: Versions | undefined;
}

function VersionHead({ conversation, number, versions }: VersionHeadProps) {
  const neighbours = useMemo(() => {
    const numbers = [0, ...(versions?.versions.map((version) => version.number) ?? [])];
    return {
      before: numbers.findLast((other) => other < number),
      after: numbers.find((other) => other > number),
      isLive: versions !== undefined && numbers.at(-1) === number,
    };
  }, [versions, number]);
  const { before, after, isLive } = neighbours;
  const to = (other: number): string => linkTo('c', conversation, 'v', other);
  return (
    <header class="panel-head">
      <h2>
        Version {number}
        {isLive && <span class="live-mark">live</span>}
      </h2>
      <nav class="panel-links" aria-label="Other versions">
        {before !== undefined && <a href={to(before)}>← Version {before}</a>}
        {after !== undefined && <a href={to(after)}>Version {after} →</a>}
        {before !== undefined && number > 0 && (
          <a href={linkTo('c', conversation, 'diff', before, number)}>Compare with version {before}</a>
        )}
        <a href={linkTo('c', conversation, 'versions')}>All versions</a>
      </nav>
    </header>
  );
}

function Summaries({ conversation, number }: { readonly conversation: string; readonly number: number }) {
  const path = ['conversations', conversation, 'versions', number, 'report'];
  const report = useAnswer<ReportAnswer>(number === 0 ? undefined : path);
  if (number === 0) {
    return (
      <EmptyState title="Version 0 is the whole log">
        No message is compacted. The view “Request” shows what a model would get.
      </EmptyState>
    );
  }
  return (
    <Loaded answer={report} what="the version">
      {(value) => (
        <>
          <VersionFacts conversation={conversation} report={value} />
          {value.parts.length === 0 && (
            <EmptyState title="This version has no new summaries">{explainNone(value)}</EmptyState>
          )}
          {value.parts.map((part) => (
            <SummaryPart key={part.from} conversation={conversation} part={part} />
          ))}
        </>
      )}
    </Loaded>
  );
}

function explainNone({ cause, evicted, shortened }: ReportAnswer): string {
  if (cause !== 'pass') return `A ${cause} made this version. Its summaries come from an earlier version.`;
  if (evicted.length > 0) return 'Messages left the context without a summary. The log keeps them.';
  return shortened.length > 0 ? 'This version shortens messages. The log keeps the whole texts.' : '';
}
