import { useEffect, useRef, useState } from 'preact/hooks';
import type { OutlineAnswer, OutlineEntryAnswer } from '../../../src/api/contract/inspection.ts';
import { readRoute, type TurnfoldError } from '../shell/client.ts';

const PAGE = 2_000;

export interface WholeOutline {
  readonly entries: readonly OutlineEntryAnswer[];
  readonly isWhole: boolean;
  readonly error: TurnfoldError | undefined;
}

/**
 * The outline that was read of one version. Another version may show every message differently, so it needs a new
 * outline.
 */
interface Read {
  readonly conversation: string;
  readonly version: number;
  readonly entries: readonly OutlineEntryAnswer[];
}

/** Reads the outline of the whole log. When the log has grown, reads only its new messages. */
export function useOutline(conversation: string, head: number | undefined, version = 0): WholeOutline {
  const [read, setRead] = useState<Read>({ conversation, version, entries: [] });
  const [error, setError] = useState<TurnfoldError>();
  const latest = useRef(read);
  useEffect(() => {
    if (head === undefined) return undefined;
    const leaving = new AbortController();
    const readOn = async (): Promise<void> => {
      const { current } = latest;
      const isSame = current.conversation === conversation && current.version === version;
      let entries = isSame ? current.entries : [];
      const path = ['conversations', conversation, 'outline'];
      while ((entries.at(-1)?.seq ?? 0) < head) {
        const query = { after: entries.at(-1)?.seq ?? 0, limit: PAGE };
        const page = await readRoute<OutlineAnswer>(path, query, leaving.signal);
        if (page.entries.length === 0) break;
        entries = [...entries, ...page.entries];
        latest.current = { conversation, version, entries };
        setRead(latest.current);
      }
      setError(undefined);
    };
    readOn().catch((thrown: unknown) => {
      if (!leaving.signal.aborted) setError(thrown as TurnfoldError);
    });
    return () => leaving.abort();
  }, [conversation, head, version]);
  const entries = read.conversation === conversation ? read.entries : [];
  return { entries, isWhole: head !== undefined && (entries.at(-1)?.seq ?? 0) >= head, error };
}
