import { IconSearch } from '../parts/icons.tsx';
import { TypedField } from '../parts/typed-field.tsx';

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
