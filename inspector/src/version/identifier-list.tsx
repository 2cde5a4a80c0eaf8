import { useState } from 'preact/hooks';
import type { ReportAnswer } from '../../../src/api/contract/inspection.ts';
import { exactNumber } from '../parts/figures.tsx';
import type { ChosenSource } from './source-list.tsx';

type Identifiers = ReportAnswer['parts'][number]['identifiers'];

/** Identifiers above this number get a field that filters them. */
const MANY = 12;

export interface IdentifierListProps {
  readonly identifiers: Identifiers;
  readonly chosen: ChosenSource | undefined;
  readonly onChoose: (source: ChosenSource) => void;
}

/** Identifiers that the summary lost and kept. A click shows where one stood. */
export function IdentifierList({ identifiers, chosen, onChoose }: IdentifierListProps) {
  const { kept, lost, keptCount, lostCount } = identifiers;
  const [wanted, setWanted] = useState('');
  const isWanted = ({ text }: { readonly text: string }): boolean =>
    text.toLowerCase().includes(wanted.trim().toLowerCase());
  const shared = { chosen, onChoose };
  return (
    <div class="identifiers">
      {kept.length + lost.length > MANY && (
        <input
          type="search"
          class="identifier-search"
          value={wanted}
          onInput={({ currentTarget }) => setWanted(currentTarget.value)}
          placeholder="Find an identifier, e.g. an order number"
          aria-label="Find an identifier"
        />
      )}
      <Chips name="Lost" tone="lost" count={lostCount} entries={lost.filter(isWanted)} {...shared} />
      <Chips name="Kept" tone="kept" count={keptCount} entries={kept.filter(isWanted)} {...shared} />
    </div>
  );
}

interface ChipsProps extends Pick<IdentifierListProps, 'chosen' | 'onChoose'> {
  readonly name: string;
  readonly tone: 'kept' | 'lost';
  readonly count: number;
  readonly entries: Identifiers['kept'];
}

/** Identifiers that are shown before a person asks for all. */
const FIRST = 30;

function Chips({ name, tone, count, entries, chosen, onChoose }: ChipsProps) {
  const [isWhole, setIsWhole] = useState(false);
  const shown = isWhole ? entries : entries.slice(0, FIRST);
  return (
    <section class={`chips chips-${tone}`}>
      <h4>
        {name} <span class="number">{exactNumber(count)}</span>
      </h4>
      {entries.length === 0 && <p class="hint">{count === 0 ? 'None.' : 'None with this text.'}</p>}
      <ul>
        {shown.map(({ text, seq }) => (
          <li key={text}>
            <button
              type="button"
              class="chip"
              aria-pressed={chosen?.mark === text}
              title={`Last in message ${seq}. Click to see it there.`}
              onClick={() => onChoose({ seq, mark: text })}
            >
              <bdi>{text}</bdi>
              <span class="visually-hidden">
                , {tone}, in message {seq}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {shown.length < entries.length && (
        <button type="button" class="button" onClick={() => setIsWhole(true)}>
          Show all {exactNumber(entries.length)}
        </button>
      )}
      {isWhole && entries.length < count && wantedAll(entries.length, count)}
    </section>
  );
}

function wantedAll(shown: number, count: number) {
  return (
    <p class="hint">
      The {exactNumber(shown)} that the agent most likely needs again, of {exactNumber(count)}.
    </p>
  );
}
