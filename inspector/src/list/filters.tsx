import { useEffect, useState } from 'preact/hooks';
import { IconSearch } from '../parts/icons.tsx';

export interface Filter {
  readonly id: string;
  readonly agent: string;
  readonly state: string;
}

export interface FiltersProps {
  readonly filter: Filter;
  /** Agents of the shown page, as suggestions. */
  readonly agents: readonly string[];
  readonly onChange: (changes: Partial<Filter>) => void;
}

const STATES = ['', 'running', 'waiting', 'queued', 'failed', 'idle'];
/** Pause after the last key before a search is sent. */
const TYPING_MS = 200;

export function Filters({ filter: { id, agent, state }, agents, onChange }: FiltersProps) {
  return (
    <search class="filters">
      <div class="search">
        <IconSearch />
        <TypedField label="Find by id" value={id} onChange={(text) => onChange({ id: text })} />
      </div>
      <TypedField label="Agent" value={agent} suggestions={agents} onChange={(text) => onChange({ agent: text })} />
      <div class="segments" role="group" aria-label="State">
        {STATES.map((name) => (
          <button key={name} type="button" aria-pressed={name === state} onClick={() => onChange({ state: name })}>
            {name === '' ? 'all' : name}
          </button>
        ))}
      </div>
    </search>
  );
}

interface TypedFieldProps {
  readonly label: string;
  readonly value: string;
  readonly suggestions?: readonly string[];
  readonly onChange: (text: string) => void;
}

/** A text field that reports its text once a person pauses. */
function TypedField({ label, value, suggestions, onChange }: TypedFieldProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onChange(text.trim()), TYPING_MS);
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
