import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ContextAnswer } from '../../../src/api/contract/contexts.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { counted, exactNumber, Tokens } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Tag } from '../parts/tag.tsx';
import { replaceSettings, settings } from '../shell/router.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { findLine, jsonLines, jsonPieces, shortenLine } from './json-lines.ts';

const FORMATS: Readonly<Record<ContextAnswer['format'], string>> = {
  turnfold: 'turnfold',
  anthropic: 'Anthropic',
  'openai-chat': 'OpenAI Chat',
  'openai-responses': 'OpenAI Responses',
};

const names = Object.keys(FORMATS) as (keyof typeof FORMATS)[];

export function RequestView({ conversation, version }: { readonly conversation: string; readonly version: number }) {
  const wanted = settings.value.get('format');
  const format = names.find((name) => name === wanted) ?? 'anthropic';
  const context = useAnswer<ContextAnswer>(['conversations', conversation, 'context'], { format, version });
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
        The request breaks {broken.length === 1 ? 'a rule' : counted(broken.length, 'rule')} of {format}.
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
        System prompt, {counted(pins.length, 'pin')}, {counted(tools.length, 'tool')}
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

/** Height of a line. version.css has the same height. */
const LINE_PX = 18;
const OVERSCAN = 20;
const VISIBLE = 60;

interface JsonViewProps {
  readonly value: unknown;
  readonly what: string;
}

/** Shows JSON with its own search. Only visible lines are elements, so the browser's search would miss the others. */
function JsonView({ value, what }: JsonViewProps) {
  const lines = useMemo(() => jsonLines(value), [value]);
  const frame = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [found, setFound] = useState<number>();
  const [wanted, setWanted] = useState('');
  useEffect(() => {
    setFound(undefined);
    frame.current?.scrollTo({ top: 0 });
  }, [lines]);
  const findNext = (event: Event): void => {
    event.preventDefault();
    const line = findLine(lines, wanted.trim(), found === undefined ? 0 : found + 1);
    setFound(line);
    frame.current?.scrollTo({ top: (line - 4) * LINE_PX });
  };
  const start = Math.max(0, first - OVERSCAN);
  const shown = lines.slice(start, first + VISIBLE + OVERSCAN);
  return (
    <div class="json card">
      <form class="json-bar" role="search" onSubmit={findNext}>
        <input
          type="search"
          value={wanted}
          onInput={({ currentTarget }) => setWanted(currentTarget.value)}
          placeholder="Find in the JSON"
          aria-label={`Find in ${what}`}
        />
        <button type="submit" class="button">
          Next
        </button>
        <p class="hint number" role="status">
          {found === -1 ? 'Not found' : `${exactNumber(lines.length)} lines`}
          {found !== undefined && found >= 0 && `, at line ${exactNumber(found + 1)}`}
        </p>
        <CopyButton text={lines.join('\n')} what={what} />
      </form>
      <div
        ref={frame}
        class="json-frame"
        role="region"
        aria-label={what}
        tabIndex={0}
        onScroll={({ currentTarget }) => setFirst(Math.floor(currentTarget.scrollTop / LINE_PX))}
      >
        <div class="json-space" style={{ blockSize: `${lines.length * LINE_PX}px` }}>
          <pre class="json-lines" style={{ insetBlockStart: `${start * LINE_PX}px` }}>
            {shown.map((line, index) => (
              <JsonLine key={start + index} line={line} isFound={start + index === found} />
            ))}
          </pre>
        </div>
      </div>
    </div>
  );
}

function JsonLine({ line, isFound }: { readonly line: string; readonly isFound: boolean }) {
  return (
    <div class={isFound ? 'json-line is-found' : 'json-line'}>
      {jsonPieces(shortenLine(line)).map(({ text, kind }, index) =>
        kind === 'mark' ? (
          text
        ) : (
          <span key={index} class={`json-${kind}`}>
            {text}
          </span>
        ),
      )}
    </div>
  );
}
