import { renderSummary } from '../../domain/summary.ts';
import { foldLine, takeEnds } from './text.ts';

/** Sections of a structural summary in their order. `share` is a fraction of the summary's token limit. */
export const OUTLINE_SECTIONS = {
  request: { heading: '# Request', share: 0.06 },
  calls: { heading: '# Calls', share: 0.3 },
  literals: { heading: '# Files and ids', share: 0.35 },
  errors: { heading: '# Errors', share: 0.08 },
  decisions: { heading: '# Decisions', share: 0.12 },
  open: { heading: '# Open', share: 0.04 },
} as const;

export type OutlineSection = keyof typeof OUTLINE_SECTIONS;

export const sectionNames = Object.keys(OUTLINE_SECTIONS) as OutlineSection[];

/** One fact of a summary. The text is one folded line, so the text cannot start a section. */
export interface Line {
  readonly section: OutlineSection;
  readonly text: string;
  /**
   * Importance of the line without its literals (ids, paths, dates, numbers). The unit is arbitrary: only ratios
   * between lines matter.
   */
  readonly worth: number;
}

export function renderOutline(lines: readonly Line[]): string {
  const parts = sectionNames.flatMap((section) => {
    const own = lines.filter((line) => line.section === section).map((line) => line.text);
    return own.length === 0 ? [] : [OUTLINE_SECTIONS[section].heading, ...own];
  });
  return parts.join('\n');
}

/** Lines that `renderSummary` puts around every summary. They are not read as facts of an earlier summary. */
const frame = new Set(renderSummary('', { from: 1, to: 1 }).split('\n').filter(Boolean));
const FRAME_TAG = /^<\/?summary\b[^>]{0,80}>$/;

/**
 * Reads the lines of an earlier summary by section, so that it is merged and not nested. Text outside a section counts
 * as a decision.
 */
export function parseOutline(text: string): { section: OutlineSection; text: string }[] {
  let section: OutlineSection = 'decisions';
  return takeEnds(text)
    .split('\n')
    .flatMap((raw) => {
      const heading = sectionNames.find((name) => OUTLINE_SECTIONS[name].heading === raw.trim());
      section = heading ?? section;
      const line = foldLine(raw);
      const isFrame = frame.has(line) || FRAME_TAG.test(line);
      return heading !== undefined || line === '' || isFrame ? [] : [{ section, text: line }];
    });
}
