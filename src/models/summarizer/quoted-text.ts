import { partsOf } from '../../domain/evidence/fragments.ts';
import type { Message } from '../../domain/message.ts';
import { sectionNamed } from './section-names.ts';
import type { Section } from './sections.ts';

/** Characters of a line that must be the same, because a model may shorten what it quotes. */
const QUOTED_CHARS = 24;
/** Shorter lines may be the same by chance. */
const MIN_CHARS = 8;
/** Lines between a heading and a line of its section. */
const MAX_LINES_UNDER = 12;
const MAX_OCCURRENCES = 64;
const LINE_MARKS = /^[\s\-*>#]+/;

/**
 * Texts that a summary stands for. A model may quote a heading from them, with what follows it. Such a heading is data and
 * opens no section.
 */
export class QuotedText {
  readonly #texts: readonly string[];
  /** Results of tools. Their authors may not instruct the agent. */
  readonly #results: readonly string[];

  constructor(messages: readonly Message[], others: readonly string[]) {
    this.#texts = [...messages.flatMap(textsOf), ...others];
    this.#results = messages.filter(({ role }) => role === 'tool').flatMap(textsOf);
  }

  /** Checks whether the heading stands in the texts with the same text after it. */
  holdsSection(heading: string, body: string): boolean {
    const [opening, start] = [heading.trim(), startOf(body)];
    return this.#texts.some((text) =>
      occurrencesOf(text, opening).some((at) => {
        const rest = text
          .slice(at + opening.length, at + opening.length + 4 * QUOTED_CHARS)
          .replace(/^[\s:：*_\]】>-]+/u, '');
        return start !== '' && rest.startsWith(start);
      }),
    );
  }

  /** Checks whether a line of a summary stands under a heading of this section in the result of a tool. */
  isUnderHeading(section: Section, line: string): boolean {
    const start = startOf(line);
    if (start.length < MIN_CHARS) return false;
    return this.#results.some((text) =>
      occurrencesOf(text, start).some((at) => {
        const before = text
          .slice(Math.max(0, at - 2_000), at)
          .split('\n')
          .toReversed();
        return before.slice(0, 1 + MAX_LINES_UNDER).some((above) => namesSection(above, section));
      }),
    );
  }
}

function textsOf(message: Message): string[] {
  return partsOf(message).map(({ text }) => text);
}

function startOf(text: string): string {
  return text.replace(LINE_MARKS, '').split('\n', 1)[0]?.slice(0, QUOTED_CHARS).trim() ?? '';
}

/** Checks for a heading, a tag or a label: `## Next step`, `<next>`, `Next step: `. */
function namesSection(line: string, section: Section): boolean {
  const said = line.slice(0, 120);
  const tag = /<\/?([\p{L} _]{1,40})(?:-\w{1,16})?>/u.exec(said)?.[1];
  const label = said.replace(LINE_MARKS, '').split(/[:：]/u, 1)[0] ?? '';
  return [tag, label].some((name) => name !== undefined && sectionNamed(name) === section);
}

function occurrencesOf(text: string, part: string): number[] {
  const found: number[] = [];
  if (part === '') return found;
  for (let at = text.indexOf(part); at !== -1 && found.length < MAX_OCCURRENCES; at = text.indexOf(part, at + 1))
    found.push(at);
  return found;
}
