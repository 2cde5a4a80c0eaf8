import type { TokenCounter } from '../../domain/ports/token-counter.ts';
import { fairShare } from './fair-share.ts';

/**
 * Sections of a summary in their order. `asks` tells the model what to write. Code writes the sections without `asks`.
 */
export const SECTIONS = {
  goal: { heading: '## Goal', asks: 'the purpose of all this, in a sentence or two' },
  requests: { heading: '## User requests', asks: 'every request, with all of its conditions, in the words used' },
  decisions: { heading: '## Decisions', asks: 'every decision with its reason' },
  state: { heading: '## State', asks: 'finished work, unfinished work, and how things stand now' },
  facts: { heading: '## Facts', asks: 'findings that may be needed again: names, figures, ids, error texts' },
  effects: { heading: '## Side effects already done' },
  lines: { heading: '## Lines from the log' },
  failures: { heading: '## Failed attempts', asks: 'attempts that did not work, and why' },
  open: { heading: '## Open questions', asks: 'questions without an answer yet' },
  next: { heading: '## Next step', asks: 'the next thing that the agent was about to do' },
} as const satisfies Readonly<Record<string, { readonly heading: string; readonly asks?: string }>>;

export type Section = keyof typeof SECTIONS;
export type Sections = ReadonlyMap<Section, string>;

const names = Object.keys(SECTIONS) as Section[];
const headings = new Map(names.map((name) => [foldHeading(SECTIONS[name].heading), name]));

const HEADING = /^ {0,3}(?:#{1,6}\s|\*\*)/;
/** Matches the heading of a section that only code may write, as a model or an older version of turnfold might spell it. */
const FILLED = /^(?:artifacts?|side effects?|lines from the log)\b/;
const LIST_MARKS = /^[-*\s]+/;
const NOTHING = /^(?:none|nothing|n\/a|[–—])?[.\s]*$/i;

/**
 * Reads the sections of a model's answer. Drops text before the first section, and sections that only code may write.
 */
export function readSections(text: string): Sections {
  const bodies = new Map<Section, string[]>();
  let body: string[] = [];
  for (const line of text.split('\n')) {
    const heading = HEADING.test(line) ? foldHeading(line) : undefined;
    const section = heading === undefined ? undefined : headings.get(heading);
    if (heading !== undefined && FILLED.test(heading)) body = [];
    else if (section === undefined) body.push(heading === undefined ? line : line.replace(/^[\s#]+/, ''));
    else {
      body = bodies.get(section) ?? [];
      bodies.set(section, body);
    }
  }
  const read = names.map((name): [Section, string] => [name, (bodies.get(name) ?? []).join('\n').trim()]);
  return new Map(read.filter(([, written]) => !NOTHING.test(written.replace(LIST_MARKS, ''))));
}

export function renderSections(sections: Sections): string {
  return names
    .flatMap((name) => (sections.has(name) ? [`${SECTIONS[name].heading}\n${sections.get(name)}`] : []))
    .join('\n');
}

/** Clips the longest sections to the token limit, so that one long list does not displace the other sections. */
export async function fitSections(counter: TokenCounter, sections: Sections, maxTokens: number): Promise<Sections> {
  const bodies = [...sections];
  const framed = bodies.map(([name]) => counter.countSync(`${SECTIONS[name].heading}\n\n`));
  const tokens = await Promise.all(bodies.map(([, body]) => counter.count(body)));
  const share = fairShare(tokens, maxTokens - framed.reduce((sum, count) => sum + count, 0));
  const fitted = await Promise.all(
    bodies.map(
      async ([name, body]): Promise<[Section, string]> => [name, (await counter.clipStart(body, share)).trimEnd()],
    ),
  );
  return new Map(fitted.filter(([, body]) => body !== ''));
}

function foldHeading(line: string): string {
  return line
    .replace(/[#*:]+/g, ' ')
    .trim()
    .replace(/\s+/g, ' ')
    .toLowerCase();
}
