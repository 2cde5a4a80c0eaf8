import { exactNumber, shortTokens } from '../parts/figures.tsx';
import { IconPin } from '../parts/icons.tsx';
import { Tag } from '../parts/tag.tsx';
import type { OutlineEntry } from './outline-pages.ts';

interface EntryRowProps {
  readonly seq: number;
  readonly entry: OutlineEntry | undefined;
  readonly next: OutlineEntry | undefined;
}

function categoryOf({ role, calls }: OutlineEntry): string {
  if (role === 'assistant') return calls === undefined ? 'assistant' : 'calls';
  if (role === 'tool') return 'results';
  return role === 'summary' ? 'summaries' : role;
}

function nameOf({ role }: OutlineEntry): string {
  return role === 'tool' ? 'result' : role;
}

function placeInRound(entry: OutlineEntry, next: OutlineEntry | undefined): string {
  const isInside = entry.role === 'tool';
  const isLast = next?.role !== 'tool';
  if (!isInside) return entry.calls === undefined || isLast ? '' : 'round-start';
  return isLast ? 'round-end' : 'round-middle';
}

const STATE_WORDS: Readonly<Partial<Record<OutlineEntry['state'], string>>> = {
  archived: 'archived',
  summarized: 'summarized',
  masked: 'masked',
  clipped: 'clipped',
};

/** Reasons for which the messages of a turn leave the context when the turn is settled. */
export const LEFT_WORDS: Readonly<Record<NonNullable<OutlineEntry['left']>, string>> = {
  refused: 'refused by the provider',
  too_large: 'too large for the model',
  rolled_back: 'rolled back',
};

export function EntryRow({ seq, entry, next }: EntryRowProps) {
  if (entry === undefined) {
    return (
      <div class="row-grid is-loading">
        <span class="rail" />
        <span class="row-seq mono">{seq}</span>
        <span class="row-wait" />
      </div>
    );
  }
  const { calls, start, tokens, state, by, isError, stopped, thinking, pinned, left } = entry;
  const words = STATE_WORDS[state];
  return (
    <div class={`row-grid is-${entry.role} is-${state}`}>
      <span class={`rail ${placeInRound(entry, next)}`}>
        <span class={`rail-dot c-${categoryOf(entry)}`} />
      </span>
      <span class="row-seq mono">{seq}</span>
      <span class="row-role">{nameOf(entry)}</span>
      <span class="row-text">
        <bdi class="one-line">{start}</bdi>
        {calls !== undefined && <span class="row-calls mono one-line">{listCalls(calls)}</span>}
      </span>
      <span class="row-tags">
        {isError === true && <Tag tone="bad">error</Tag>}
        {stopped === true && <Tag tone="warn">stopped</Tag>}
        {left !== undefined && <Tag tone={left === 'rolled_back' ? 'note' : 'bad'}>{LEFT_WORDS[left]}</Tag>}
        {thinking === true && <Tag tone="note">thinking</Tag>}
        {pinned === true && (
          <Tag tone="warn">
            <IconPin /> pinned
          </Tag>
        )}
        {words !== undefined && <StateMark words={words} by={by} isShown={state === 'masked' || state === 'clipped'} />}
      </span>
      <span class="row-tokens number" title={`${exactNumber(tokens)} tokens`}>
        {shortTokens(tokens)}
      </span>
    </div>
  );
}

interface StateMarkProps {
  readonly words: string;
  readonly by: number | undefined;
  readonly isShown: boolean;
}

/** Names the state of a message, in colour only if the context shows the message, which is rare in a long log. */
function StateMark({ words, by, isShown }: StateMarkProps) {
  const text = by === undefined ? words : `${words} v${by}`;
  return isShown ? <Tag tone="accent">{text}</Tag> : <span class="row-state">{text}</span>;
}

const SHOWN_CALLS = 4;

function listCalls(calls: readonly string[]): string {
  const more = calls.length - SHOWN_CALLS;
  return `→ ${calls.slice(0, SHOWN_CALLS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
