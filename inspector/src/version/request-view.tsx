import type { ContextAnswer } from '../../../src/api/contract/contexts.ts';
import { exactNumber, Tokens } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Tag } from '../parts/tag.tsx';
import { pathOf } from '../shell/client.ts';
import { replaceSettings, settings } from '../shell/router.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { JsonView } from './json-view.tsx';

const FORMATS: Readonly<Record<ContextAnswer['format'], string>> = {
  turnfold: 'turnfold',
  anthropic: 'Anthropic',
  'openai-chat': 'OpenAI Chat',
  'openai-responses': 'OpenAI Responses',
};

const names = Object.keys(FORMATS) as (keyof typeof FORMATS)[];

export interface RequestViewProps {
  readonly conversation: string;
  readonly version: number;
}

/** The context of a version as each provider would get it, with the rules of that provider that it breaks. */
export function RequestView({ conversation, version }: RequestViewProps) {
  const wanted = settings.value.get('format');
  const format = names.find((name) => name === wanted) ?? 'anthropic';
  const context = useAnswer<ContextAnswer>(pathOf('conversations', conversation, 'context'), { format, version });
  return (
    <section class="request" aria-label="Request">
      <fieldset class="choices">
        <legend class="visually-hidden">Format of the request</legend>
        {names.map((name) => (
          <label key={name} class="choice">
            <input
              type="radio"
              name="format"
              value={name}
              checked={name === format}
              onChange={() => replaceSettings({ format: name })}
            />
            {FORMATS[name]}
          </label>
        ))}
      </fieldset>
      <Loaded answer={context} what="the request">
        {(value) => (
          <>
            <p class="hint">
              <Tokens value={value.tokens} unit=" tokens" /> up to message {exactNumber(value.head)}, without system
              prompt, pins and tools.
            </p>
            {value.broken !== undefined && <BrokenRules broken={value.broken} format={FORMATS[format]} />}
            {value.agentSnapshot !== undefined && <Snapshot snapshot={value.agentSnapshot} />}
            <JsonView value={value.body ?? value.items} what={`the request in the format ${FORMATS[format]}`} />
          </>
        )}
      </Loaded>
    </section>
  );
}

interface BrokenRulesProps {
  readonly broken: NonNullable<ContextAnswer['broken']>;
  readonly format: string;
}

function BrokenRules({ broken, format }: BrokenRulesProps) {
  if (broken.length === 0) {
    return (
      <p>
        <Tag tone="good">valid</Tag> The request keeps every rule of {format}.
      </p>
    );
  }
  return (
    <div class="error-note broken-rules" role="note">
      <p>
        The request breaks {broken.length === 1 ? 'a rule' : `${exactNumber(broken.length)} rules`} of {format}.
      </p>
      <ul>
        {broken.map(({ rule, why }, index) => (
          <li key={index}>
            <code>{rule}</code> <span class="plain-text">{why}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Snapshot({ snapshot }: { readonly snapshot: NonNullable<ContextAnswer['agentSnapshot']> }) {
  const { system, pins, tools } = snapshot;
  return (
    <details class="card snapshot">
      <summary>
        System prompt, {exactNumber(pins.length)} {pins.length === 1 ? 'pin' : 'pins'}, {exactNumber(tools.length)}{' '}
        {tools.length === 1 ? 'tool' : 'tools'}
      </summary>
      <p class="plain-text" dir="auto">
        {system === '' ? 'No system prompt.' : system}
      </p>
      {pins.map((pin) => (
        <p key={pin} class="plain-text" dir="auto">
          <Tag tone="warn">pin</Tag> {pin}
        </p>
      ))}
      {tools.map(({ name, description }) => (
        <p key={name} class="plain-text">
          <code>{name}</code> {description}
        </p>
      ))}
    </details>
  );
}
