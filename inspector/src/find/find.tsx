import './find.css';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ReportAnswer } from '../../../src/api/contract/inspection.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { counted, exactNumber, exactRange } from '../parts/figures.tsx';
import { IconSearch } from '../parts/icons.tsx';
import { Tag } from '../parts/tag.tsx';
import { TypedField } from '../parts/typed-field.tsx';
import type { Version } from '../shell/answers.ts';
import { readRoute, type TurnfoldError } from '../shell/client.ts';
import { accessKey } from '../shell/key.tsx';
import { linkTo, linkToMessage, replaceSettings, settings } from '../shell/router.ts';
import { type Hit, hitsOf, readAhead } from './hits.ts';

interface FindProps {
  readonly conversation: string;
  readonly versions: readonly Version[];
}

export function Find({ conversation, versions }: FindProps) {
  const word = settings.value.get('find') ?? '';
  const numbers = useMemo(() => versions.map(({ number }) => number).toReversed(), [versions]);
  const search = useFind(conversation, word, numbers);
  return (
    <search class="find" aria-label="Find in all versions">
      <div class="search">
        <IconSearch />
        <TypedField
          label="Find a word or id"
          value={word}
          maxLength={200}
          onChange={(text) => replaceSettings({ find: text })}
        />
      </div>
      {word !== '' && (
        <Hits key={word} conversation={conversation} word={word} versions={numbers.length} search={search} />
      )}
    </search>
  );
}

interface HitsProps {
  readonly conversation: string;
  readonly word: string;
  readonly versions: number;
  readonly search: Search;
}

const FIRST = 50;

function Hits({ conversation, word, versions, search: { hits, searched, isDone, error, retry } }: HitsProps) {
  const [count, setCount] = useState(FIRST);
  return (
    <>
      <p class="hint" role="status">
        {isDone
          ? `${counted(hits.length, 'hit')} for “${word}”, ${searched} of ${versions} versions searched`
          : `Searching for “${word}”, ${searched} of ${versions} versions so far…`}
      </p>
      {error !== undefined && <ErrorNote error={error} onRetry={retry} />}
      {isDone && error === undefined && hits.length === 0 && (
        <EmptyState title={`No kept version changed a message with “${word}”`}>
          The agent sees each such message as it is, or the log has none.
        </EmptyState>
      )}
      {hits.length > 0 && (
        <ul class="hits card" aria-label="Hits">
          {hits.slice(0, count).map((hit, index) => (
            <HitRow key={index} conversation={conversation} word={word} hit={hit} />
          ))}
          {count < hits.length && (
            <li>
              <button type="button" class="button" onClick={() => setCount(count + FIRST * 4)}>
                Show more of {exactNumber(hits.length)}
              </button>
            </li>
          )}
        </ul>
      )}
    </>
  );
}

interface HitRowProps {
  readonly conversation: string;
  readonly word: string;
  readonly hit: Hit;
}

function HitRow({ conversation, word, hit }: HitRowProps) {
  const { version, text, seq, isKept } = hit;
  return (
    <li class="hit">
      <Tag tone={isKept ? 'good' : 'warn'}>{isKept ? 'kept' : 'lost'}</Tag>
      <bdi class="hit-text mono">{text}</bdi>
      <a href={`${linkToMessage(conversation, seq)}&find=${encodeURIComponent(word)}`}>message {exactNumber(seq)}</a>
      <a href={linkTo('c', conversation, 'v', version)}>version {version}</a>
      <span class="soft">{describe(hit)}</span>
    </li>
  );
}

function describe({ fate, isKept, from, to }: Hit): string {
  const range = `${from === to ? 'message' : 'messages'} ${exactRange({ from, to })}`;
  switch (fate) {
    case 'summarized':
      return `the summary of ${range} ${isKept ? 'has it' : 'leaves it out'}`;
    case 'evicted':
      return `${range} left the context without a summary`;
    case 'shortened':
      return `${range} masked or clipped${isKept ? ', the rest shows it' : ''}`;
  }
}

interface Progress {
  readonly word: string;
  readonly hits: readonly Hit[];
  readonly searched: number;
  readonly isDone: boolean;
  readonly error?: TurnfoldError;
}

interface Search extends Progress {
  readonly retry: () => void;
}

function useFind(conversation: string, word: string, versions: readonly number[]): Search {
  const [round, setRound] = useState(0);
  const [progress, setProgress] = useState<Progress>(startOf(''));
  const key = accessKey.value;
  useEffect(() => {
    setProgress(startOf(word));
    if (word === '') return undefined;
    const leaving = new AbortController();
    const { signal } = leaving;
    const read = async (version: number): Promise<Hit[]> => {
      const path = ['conversations', conversation, 'versions', version, 'report'];
      return hitsOf(await readRoute<ReportAnswer>(path, { find: word }, signal), word);
    };
    const search = async (): Promise<void> => {
      try {
        for await (const more of readAhead(versions, read)) {
          if (signal.aborted) return;
          setProgress((before) => ({
            ...before,
            hits: [...before.hits, ...more],
            searched: before.searched + 1,
          }));
        }
        if (!signal.aborted) setProgress((before) => ({ ...before, isDone: true }));
      } catch (error) {
        if (signal.aborted) return;
        // The search has failed, so the reports that are still in flight are not needed.
        leaving.abort();
        setProgress((before) => ({ ...before, isDone: true, error: error as TurnfoldError }));
      }
    };
    void search();
    return () => leaving.abort();
  }, [conversation, word, versions.join(), round, key]);
  const shown = progress.word === word ? progress : startOf(word);
  return { ...shown, retry: () => setRound((before) => before + 1) };
}

function startOf(word: string): Progress {
  return { word, hits: [], searched: 0, isDone: false };
}
