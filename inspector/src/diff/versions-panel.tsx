import '../version/version.css';
import './diff.css';
import { useMemo, useState } from 'preact/hooks';
import { EmptyState } from '../parts/empty-state.tsx';
import { exactNumber, shortDuration, Time, Tokens } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Tag } from '../parts/tag.tsx';
import { ProposalNote } from '../proposal/proposal-panel.tsx';
import type { Version, Versions } from '../shell/answers.ts';
import { useLiveAnswer } from '../shell/live-conversation.ts';
import { linkTo } from '../shell/router.ts';

export function VersionsPanel({ conversation }: { readonly conversation: string }) {
  const versions = useLiveAnswer<Versions>(['conversations', conversation, 'versions']);
  return (
    <>
      <ProposalNote conversation={conversation} />
      <Loaded answer={versions} what="the versions">
        {({ versions: kept }) =>
          kept.length === 0 ? (
            <EmptyState title="The context was never compacted">
              The agent still sees every message. <a href={linkTo('c', conversation, 'trial')}>What if</a> shows what a
              compaction would do.
            </EmptyState>
          ) : (
            <VersionTable conversation={conversation} versions={kept} />
          )
        }
      </Loaded>
    </>
  );
}

interface VersionTableProps {
  readonly conversation: string;
  readonly versions: readonly Version[];
}

function VersionTable({ conversation, versions }: VersionTableProps) {
  const live = versions.at(-1)?.number ?? 0;
  const [before, setBefore] = useState(versions.at(-2)?.number ?? 0);
  const [after, setAfter] = useState(live);
  const rows = useMemo(() => versions.toReversed(), [versions]);
  const numbers = [...rows.map(({ number }) => number), 0];
  return (
    <>
      <form
        class="compare"
        onSubmit={(event) => {
          event.preventDefault();
          location.hash = linkTo('c', conversation, 'diff', before, after);
        }}
      >
        <VersionSelect label="Compare version" value={before} numbers={numbers} onChange={setBefore} />
        <VersionSelect label="with version" value={after} numbers={numbers} onChange={setAfter} />
        <button type="submit" class="button" disabled={before === after}>
          Compare
        </button>
      </form>
      <Table caption="Versions" columns={columnsOf(conversation, live)} rows={rows} keyOf={({ number }) => number} />
    </>
  );
}

interface VersionSelectProps {
  readonly label: string;
  readonly value: number;
  readonly numbers: readonly number[];
  readonly onChange: (number: number) => void;
}

export function VersionSelect({ label, value, numbers, onChange }: VersionSelectProps) {
  return (
    <label class="compare-label">
      {label}
      <select value={value} onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}>
        {numbers.map((number) => (
          <option key={number} value={number}>
            {number === 0 ? '0, the whole log' : number}
          </option>
        ))}
      </select>
    </label>
  );
}

function columnsOf(conversation: string, live: number): readonly Column<Version>[] {
  return [
    {
      name: 'Version',
      cell: ({ number }) => (
        <>
          <a href={linkTo('c', conversation, 'v', number)}>Version {number}</a>
          {number === live && <span class="live-mark">live</span>}
        </>
      ),
    },
    {
      name: 'How',
      cell: ({ cause, strategy }) => <Tag>{cause === 'pass' ? strategy : cause}</Tag>,
    },
    {
      name: 'Why',
      isMinor: true,
      cell: ({ reasons }) => (reasons.length === 0 ? '–' : reasons.join(', ').replaceAll('_', ' ')),
    },
    {
      name: 'Tokens',
      isNumber: true,
      cell: ({ tokensBefore, tokensAfter }) => (
        <>
          <Tokens value={tokensBefore} /> → <Tokens value={tokensAfter} />
        </>
      ),
    },
    { name: 'Archived', isNumber: true, cell: ({ archived }) => exactNumber(archived) },
    { name: 'Took', isNumber: true, isMinor: true, cell: ({ durationMs }) => shortDuration(durationMs) },
    { name: 'Made', isNumber: true, isMinor: true, cell: ({ at }) => <Time at={at} /> },
    {
      name: 'Changes',
      cell: ({ number, parent }) =>
        parent === null ? '–' : <a href={linkTo('c', conversation, 'diff', parent, number)}>from {parent}</a>,
    },
  ];
}
