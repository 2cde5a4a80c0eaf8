import { useMemo, useState } from 'preact/hooks';
import type { ReportAnswer } from '../../../src/api/contract/inspection.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { exactNumber, Tokens } from '../parts/figures.tsx';
import { IdentifierList } from './identifier-list.tsx';
import { ShownText } from './shown-text.tsx';
import { type ChosenSource, SourceList } from './source-list.tsx';

export interface SummaryPartProps {
  readonly conversation: string;
  readonly part: ReportAnswer['parts'][number];
}

/** A summary beside the messages that it stands for. */
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
