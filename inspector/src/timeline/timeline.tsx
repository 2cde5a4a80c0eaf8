import './timeline.css';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { EmptyState } from '../parts/empty-state.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { counted, shortDuration, shortTokens } from '../parts/figures.tsx';
import type { Version } from '../shell/answers.ts';
import { linkTo, replaceSettings } from '../shell/router.ts';
import { EntryRow } from './entry-row.tsx';
import { MessageDialog } from './message-dialog.tsx';
import { OutlinePages } from './outline-pages.ts';
import { type Divider, type Row, RowIndex } from './row-index.ts';
import { ROW_PX, useVirtualWindow, type VirtualWindow } from './virtual-window.ts';

/**
 * The timeline has a row for each message of the log. Between the messages, each version has a row.
 *
 * A log may have 10,000 messages, so only the rows in view are elements. Three files share the work:
 * - `row-index.ts` numbers the rows. It needs only the length of the log and the positions of the versions.
 * - `virtual-window.ts` decides which rows are drawn. All rows have one height, so no row has to be measured.
 * - `outline-pages.ts` reads the drawn messages, 200 in a request, and cancels pages that were scrolled away.
 *
 * The list takes the focus as one element, and the keys move its active row. A focused row would lose the focus when it
 * is scrolled away, because its element is then removed.
 */
interface TimelineProps {
  readonly conversation: string;
  readonly head: number;
  readonly live: number;
  readonly versions: readonly Version[];
  /** Version whose view of the log is shown (default: the live version). */
  readonly shown: number | undefined;
  readonly marked: number | undefined;
}

/** Pause before pages are read. After a fast scroll, only the pages at its end are read. */
const SETTLE_MS = 60;

export function Timeline({ conversation, head, live, versions, shown, marked }: TimelineProps) {
  const pages = useMemo(() => new OutlinePages(conversation, shown), [conversation, shown, live]);
  useEffect(() => () => pages.close(), [pages]);
  pages.grow(head);
  const rows = useMemo(() => new RowIndex(head, versions.map(placeDivider)), [head, versions]);
  const view = useVirtualWindow(rows.count);
  const [active, setActive] = useState<number>();
  const [opened, setOpened] = useState<number>();
  usePages(pages, rows, view);
  useEffect(() => {
    if (marked === undefined || marked > head) return;
    setActive(rows.indexOf(marked));
    view.reveal(rows.indexOf(marked), 'center');
  }, [marked, head > 0]);
  const move = (row: number): void => {
    const next = Math.max(0, Math.min(rows.count - 1, row));
    setActive(next);
    view.reveal(next);
  };
  const open = (index: number): void => {
    const row = rows.at(index);
    setActive(index);
    if (row.kind === 'version') location.hash = linkTo('c', conversation, 'v', row.version);
    else setOpened(row.seq);
  };
  const openAt = (seq: number): void => {
    const next = Math.max(1, Math.min(head, seq));
    setOpened(next);
    move(rows.indexOf(next));
    pages.need(next, next);
  };
  const close = (): void => {
    setOpened(undefined);
    if (marked !== undefined) replaceSettings({ seq: '' });
    view.frame.current?.focus();
  };
  if (head === 0) return <EmptyState title="The log has no messages yet" />;
  const error = pages.error.value;
  return (
    <>
      {error !== undefined && (
        <ErrorNote error={error} onRetry={() => pages.need(...rows.seqsBetween(view.first, view.last))} />
      )}
      <Rows
        {...{ rows, view, pages, versions, active }}
        onKey={(event) => moveByKey(event, { active, view, count: rows.count, move, open })}
        onOpen={open}
      />
      {opened !== undefined && (
        <MessageDialog
          conversation={conversation}
          seq={opened}
          entry={pages.entryAt(opened)}
          onMove={(by) => openAt(opened + by)}
          onClose={close}
        />
      )}
    </>
  );
}

function placeDivider({ number, measuredAt }: Version): Divider {
  return { version: number, head: measuredAt.head };
}

function usePages(pages: OutlinePages, rows: RowIndex, view: VirtualWindow): void {
  // Preact draws the rows again when a page arrives, because this line reads the signal.
  const revision = pages.revision.value;
  const [from, to] = rows.seqsBetween(view.first, view.last);
  useEffect(() => {
    const timer = setTimeout(() => pages.need(from, to), revision === 0 ? 0 : SETTLE_MS);
    return () => clearTimeout(timer);
  }, [pages, from, to, rows, revision]);
}

interface Moving {
  readonly active: number | undefined;
  readonly view: VirtualWindow;
  readonly count: number;
  readonly move: (row: number) => void;
  readonly open: (row: number) => void;
}

function moveByKey(event: KeyboardEvent, { active, view, count, move, open }: Moving): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = active ?? Math.max(0, view.last - 1);
  const targets: Readonly<Record<string, number>> = {
    j: at + 1,
    ArrowDown: at + 1,
    k: at - 1,
    ArrowUp: at - 1,
    PageDown: at + view.rowsPerPage,
    PageUp: at - view.rowsPerPage,
    Home: 0,
    End: count - 1,
  };
  const target = targets[event.key];
  if (target !== undefined) move(target);
  else if (event.key === 'Enter' || event.key === ' ') open(at);
  else return;
  event.preventDefault();
}

interface RowsProps {
  readonly rows: RowIndex;
  readonly view: VirtualWindow;
  readonly pages: OutlinePages;
  readonly versions: readonly Version[];
  readonly active: number | undefined;
  readonly onKey: (event: KeyboardEvent) => void;
  readonly onOpen: (row: number) => void;
}

function Rows({ rows, view, pages, versions, active, onKey, onOpen }: RowsProps) {
  const { first, last, frame } = view;
  const drawn = Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset);
  const isDrawn = active !== undefined && active >= first && active < last;
  return (
    <div
      ref={frame}
      class="timeline-frame"
      role="listbox"
      tabIndex={0}
      aria-label="Messages of the log"
      aria-activedescendant={isDrawn ? `row-${active}` : undefined}
      onKeyDown={onKey}
    >
      <div class="timeline-sheet" role="presentation" style={{ blockSize: `${rows.count * ROW_PX}px` }}>
        {drawn.map((index) => (
          <div
            key={index}
            id={`row-${index}`}
            class={index === active ? 'timeline-row is-active' : 'timeline-row'}
            role="option"
            aria-selected={index === active}
            aria-setsize={rows.count}
            aria-posinset={index + 1}
            style={{ transform: `translateY(${index * ROW_PX}px)` }}
            onClick={() => onOpen(index)}
          >
            <RowContent row={rows.at(index)} pages={pages} versions={versions} />
          </div>
        ))}
      </div>
    </div>
  );
}

function RowContent({ row, pages, versions }: { row: Row; pages: OutlinePages; versions: readonly Version[] }) {
  if (row.kind === 'message') {
    return <EntryRow seq={row.seq} entry={pages.entryAt(row.seq)} next={pages.entryAt(row.seq + 1)} />;
  }
  const version = versions.find(({ number }) => number === row.version);
  return <div class="divider">{version !== undefined && <span>{describeVersion(version)}</span>}</div>;
}

function describeCause({ cause, reasons }: Pick<Version, 'cause' | 'reasons'>): string {
  const words = reasons.map((reason) => reason.replaceAll('_', ' '));
  if (cause === 'pass' && words.length > 0) return words.join(', ');
  return cause === 'pass' ? 'compaction' : cause;
}

/** Describes a version in one line: `v12 · 143 messages → 9.3k · token threshold · 41 ms`. */
export function describeVersion(version: Version): string {
  const { number, archived, tokensBefore, tokensAfter, durationMs } = version;
  const left = archived > 0 ? counted(archived, 'message') : shortTokens(tokensBefore);
  const parts = [`v${number}`, `${left} → ${shortTokens(tokensAfter)}`, describeCause(version)];
  if (version.cause === 'pass') parts.push(shortDuration(durationMs));
  return parts.join(' · ');
}
