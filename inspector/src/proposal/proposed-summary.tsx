import { useId, useState } from 'preact/hooks';
import { Tokens } from '../parts/figures.tsx';
import { Tag } from '../parts/tag.tsx';
import type { AnswerError } from '../shell/client.ts';
import { SourceList } from '../version/source-list.tsx';
import type { Proposal } from './proposals.ts';

export interface ProposedSummaryProps {
  readonly conversation: string;
  readonly summary: Proposal['summaries'][number];
  /** Text of the person. Undefined until they type. */
  readonly draft: string | undefined;
  /** Why the server refused the text. */
  readonly error: AnswerError | undefined;
  readonly isOff: boolean;
  readonly onEdit: (text: string) => void;
}

/** The text of one proposed summary beside its sources. */
export function ProposedSummary(props: ProposedSummaryProps) {
  const { conversation, summary, draft, error, isOff, onEdit } = props;
  const { range, tokens, model, text } = summary;
  const [hasSources, setHasSources] = useState(false);
  const [from = 1, to = 1] = range.split('-').map(Number);
  const [field, fault] = [useId(), useId()];
  const isEdited = draft !== undefined && draft !== text;
  return (
    <section class="card summary-part">
      <header class="summary-head">
        <h3>
          <label for={field}>Summary of messages {range.replace('-', '–')}</label>
        </h3>
        <p>
          {isEdited && <Tag tone="note">edited</Tag>} <Tokens value={tokens} unit=" tokens" />, written by{' '}
          <code>{model}</code>
        </p>
      </header>
      <textarea
        id={field}
        class="summary-edit"
        rows={Math.min(18, Math.max(5, text.split('\n').length + 1))}
        dir="auto"
        value={draft ?? text}
        readOnly={isOff}
        aria-invalid={error !== undefined}
        aria-describedby={error === undefined ? undefined : fault}
        onInput={({ currentTarget }) => onEdit(currentTarget.value)}
      />
      {error !== undefined && (
        <p id={fault} class="field-error" role="alert">
          {error.message} <code>{error.code}</code>
        </p>
      )}
      <div class="summary-foot">
        <button type="button" class="button" aria-expanded={hasSources} onClick={() => setHasSources(!hasSources)}>
          {hasSources ? 'Hide the sources' : 'Show the sources'}
        </button>
        {isEdited && (
          <button type="button" class="button" onClick={() => onEdit(text)}>
            Undo the edit
          </button>
        )}
      </div>
      {hasSources && <SourceList conversation={conversation} from={from} to={to} />}
    </section>
  );
}
