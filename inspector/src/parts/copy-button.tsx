import { useEffect, useState } from 'preact/hooks';
import { IconCheck, IconCopy } from './icons.tsx';

interface CopyButtonProps {
  readonly text: string;
  readonly what: string;
}

const SHOWN_MS = 1_500;

type Outcome = 'copied' | 'refused';

/** Copies a text. A browser refuses the clipboard to pages over plain HTTP. */
export function CopyButton({ text, what }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<Outcome>();
  useEffect(() => {
    if (outcome === undefined) return undefined;
    const timer = setTimeout(() => setOutcome(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('copied');
    } catch {
      setOutcome('refused');
    }
  };
  return (
    <button
      type="button"
      class="icon-button"
      onClick={() => void copy()}
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
    >
      {outcome === 'copied' ? <IconCheck /> : <IconCopy />}
      <span role="status" class="visually-hidden">
        {outcome === 'copied' && 'Copied'}
        {outcome === 'refused' && 'The browser does not allow the page to copy'}
      </span>
    </button>
  );
}
