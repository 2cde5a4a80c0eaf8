import { useEffect, useState } from 'preact/hooks';
import type { ReportAnswer } from '../../../src/api/contract/inspection-answers.ts';
import { type AnswerError, pathOf, readRoute } from '../shell/client.ts';
import { accessKey } from '../shell/key.ts';
import { type Hit, hitsOf, readAhead } from './hits.ts';

interface Progress {
  readonly word: string;
  readonly hits: readonly Hit[];
  /** Number of versions that were searched so far. */
  readonly searched: number;
  readonly isDone: boolean;
  readonly error?: AnswerError;
}

export interface Search extends Progress {
  readonly retry: () => void;
}

/**
 * Searches the reports of versions for a word. Another word cancels the requests of the one before.
 * @param versions in the order of the hits
 */
export function useFind(conversation: string, word: string, versions: readonly number[]): Search {
  const [round, setRound] = useState(0);
  const [progress, setProgress] = useState<Progress>(startOf(''));
  const key = accessKey.value;
  useEffect(() => {
    setProgress(startOf(word));
    if (word === '') return undefined;
    const leaving = new AbortController();
    const { signal } = leaving;
    const read = async (version: number): Promise<Hit[]> => {
      const path = pathOf('conversations', conversation, 'versions', version, 'report');
      return hitsOf(await readRoute<ReportAnswer>(path, { query: { find: word }, signal }), word);
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
        // Reports that are still in flight have no reader.
        leaving.abort();
        setProgress((before) => ({ ...before, isDone: true, error: error as AnswerError }));
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
