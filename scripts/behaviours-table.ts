import type { Behaviour } from '../test/behaviours/behaviour.ts';
import { BEHAVIOURS } from '../test/behaviours/table.ts';

const FORMATS: Readonly<Record<Behaviour['format'], string>> = {
  anthropic: 'Messages',
  'openai-chat': 'Chat',
  'openai-responses': 'Responses',
};

/** Renders the behaviours of providers as Markdown, with one table a topic. */
export function tabulateBehaviours(): string {
  return BEHAVIOURS.map(({ title, behaviours }) => {
    const rows = behaviours.map(({ id, provider, source, does, must, format }) => {
      const cells = [`[${provider}](${source})`, FORMATS[format], does, must, `\`${id}\``];
      return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
    });
    const head = ['| provider | format | behaviour | effect | id |', '|---|---|---|---|---|'];
    return [`## ${title}`, '', ...head, ...rows].join('\n');
  }).join('\n\n');
}
