import { useMemo, useState } from 'preact/hooks';
import type { ReportAnswer } from '../../../src/api/contract/inspection.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { exactNumber, Tokens } from '../parts/figures.tsx';
import { ShownText } from './shown-text.tsx';
import { type ChosenSource, SourceList } from './source-list.tsx';

interface SummaryPartProps {
  readonly conversation: string;
  readonly part: ReportAnswer['parts'][number];
}

export function SummaryPart({ conversation, part }: SummaryPartProps) {
  const { from, to, strategy, tokens, sourceTokens, text, identifiers } = part;
  const [chosen, setChosen] = useState<ChosenSource>();
  const kept = useMemo(() => identifiers.kept.map((identifier) => identifier.text), [identifiers]);
  const share = sourceTokens === 0 ? 100 : Math.round((tokens / sourceTokens) * 100);
  return (
    <section class="card summary-part" aria-labelledby={`part-${from}`}>
      <header class="summary-head">
        <h3 id={`part-${from}`}>
          Messages {exactNumber(from)}–{exactNumber(to)}
        </h3>
        <p class="number">
          <Tokens value={sourceTokens} /> → <Tokens value={tokens} unit=" tokens" /> ({share} %), written by{' '}
          <code>{strategy}</code>
        </p>
      </header>
      <div class="beside">
        <div class="beside-column">
          <div class="column-head">
            <h4>Summary</h4>
            <CopyButton text={text} what="the summary" />
          </div>
          <div class="summary-text" role="region" aria-label={`Summary of ${from} to ${to}`} tabIndex={0}>
            <ShownText text={text} marks={kept} chosen={chosen?.mark} />
          </div>
          <IdentifierList identifiers={identifiers} chosen={chosen} onChoose={setChosen} />
        </div>
        <div class="beside-column">
          <h4 class="column-head">Sources</h4>
          <SourceList conversation={conversation} from={from} to={to} marks={kept} chosen={chosen} />
        </div>
      </div>
    </section>
  );
}

type Identifiers = ReportAnswer['parts'][number]['identifiers'];

const MANY = 12;

interface IdentifierListProps {
  readonly identifiers: Identifiers;
  readonly chosen: ChosenSource | undefined;
  readonly onChoose: (source: ChosenSource) => void;
}

function IdentifierList({ identifiers, chosen, onChoose }: IdentifierListProps) {
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
