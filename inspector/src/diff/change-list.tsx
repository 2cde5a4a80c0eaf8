import '../trial/strip.css';
import { useState } from 'preact/hooks';
import type { AnswerBody } from '../../../src/api/contract/client.ts';
import type { ContextAnswer } from '../../../src/api/contract/contexts.ts';
import { counted, exactRange } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { useAnswer } from '../shell/use-answer.ts';
import { ShownText } from '../version/shown-text.tsx';
import { SourceList } from '../version/source-list.tsx';

export type Diff = AnswerBody<'diff'>;
type Change = Diff['changes'][number];

/** Number of ranges shown at first, because two versions may differ in thousands of ranges. */
const FIRST = 50;

interface ChangeListProps {
  readonly conversation: string;
  readonly changes: readonly Change[];
  readonly before?: number | undefined;
  readonly after?: number | undefined;
}

export function ChangeList({ conversation, changes, before, after }: ChangeListProps) {
  const [count, setCount] = useState(FIRST);
  return (
    <section class="change-list" aria-label="Changes">
      <h3>{counted(changes.length, 'range')} of messages changed</h3>
      {changes.slice(0, count).map((change) => (
        <ChangeRow key={change.from} {...{ conversation, change, before, after }} />
      ))}
      {count < changes.length && (
        <button type="button" class="button" onClick={() => setCount(count + FIRST * 4)}>
          Show more
        </button>
      )}
    </section>
  );
}

const NAMES: Readonly<Record<string, string>> = {
  raw: 'as in the log',
  summary: 'summary',
  masked: 'masked',
  clipped: 'clipped',
  excerpt: 'excerpt',
  evicted: 'archived',
};

interface ChangeRowProps extends Pick<ChangeListProps, 'conversation' | 'before' | 'after'> {
  readonly change: Change;
}

function ChangeRow({ conversation, change, before, after }: ChangeRowProps) {
  const [isOpen, setIsOpen] = useState(false);
  const { from, to } = change;
  return (
    <details class="card change-row" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <span class="number change-range">
          {from === to ? 'Message' : 'Messages'} {exactRange(change)}
        </span>
        <Side kind={change.before} /> <span aria-label="becomes">→</span>{' '}
        <Side kind={change.after} isOther={change.after === change.before} />
      </summary>
      {isOpen && (
        <div class="beside">
          <div class="beside-column">
            <h4 class="column-head">In the log</h4>
            <SourceList conversation={conversation} from={from} to={to} />
          </div>
          <div class="beside-column">
            {[before, after].map(
              (number, index) =>
                number !== undefined && (
                  <Shown
                    key={index}
                    {...{ conversation, number, from, to }}
                    kind={index === 0 ? change.before : change.after}
                  />
                ),
            )}
          </div>
        </div>
      )}
    </details>
  );
}

function Side({ kind, isOther = false }: { readonly kind: string; readonly isOther?: boolean }) {
  return (
    <span class="side">
      <span class={`legend-key fate-${kind}`} aria-hidden="true" /> {isOther && 'another '}
      {NAMES[kind] ?? kind}
    </span>
  );
}

interface ShownProps {
  readonly conversation: string;
  readonly number: number;
  readonly kind: string;
  readonly from: number;
  readonly to: number;
}

function Shown({ conversation, number, kind, from, to }: ShownProps) {
  const isShown = kind !== 'raw' && kind !== 'evicted';
  const path = ['conversations', conversation, 'versions', number];
  const context = useAnswer<ContextAnswer>(isShown ? path : undefined);
  return (
    <section class="shown-side">
      <h4 class="column-head">
        In version {number}: {NAMES[kind] ?? kind}
      </h4>
      {kind === 'raw' && <p class="hint">The agent sees these messages as they are.</p>}
      {kind === 'evicted' && <p class="hint">The agent does not see these messages.</p>}
      {isShown && (
        <Loaded answer={context} what={`version ${number}`}>
          {({ items = [] }) =>
            items
              .filter((item) => item.from <= to && item.to >= from)
              .slice(0, 20)
              .map((item) => (
                <div key={item.from} class="summary-text">
                  <ShownText text={item.message.content} />
                </div>
              ))
          }
        </Loaded>
      )}
    </section>
  );
}
