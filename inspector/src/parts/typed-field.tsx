import { useEffect, useRef, useState } from 'preact/hooks';

const TYPING_MS = 200;

interface TypedFieldProps {
  readonly label: string;
  readonly value: string;
  readonly maxLength?: number;
  readonly suggestions?: readonly string[];
  readonly onChange: (text: string) => void;
}

export function TypedField({ label, value, maxLength, suggestions, onChange }: TypedFieldProps) {
  const [text, setText] = useState(value);
  const reported = useRef(value);
  // The reported text comes back as `value`, perhaps after the person has typed more. It must not replace the newer
  // text.
  useEffect(() => {
    if (value !== reported.current) setText(value);
    reported.current = value;
  }, [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => {
      reported.current = text.trim();
      onChange(reported.current);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const list = suggestions === undefined ? undefined : 'known-agents';
  return (
    <>
      <input
        class={list === undefined ? '' : 'agent-filter'}
        type="search"
        placeholder={label}
        aria-label={label}
        value={text}
        maxLength={maxLength}
        list={list}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      {list !== undefined && (
        <datalist id={list}>
          {suggestions?.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </>
  );
}
