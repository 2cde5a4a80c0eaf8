import { renderSummary } from '../../domain/summary.ts';
import { foldLine, takeEnds } from './text.ts';

/**
 * The parts of a summary, as they follow each other. `share`: of the cap.
 */
export const OUTLINE_SECTIONS = {
  asked: { heading: '# Asked', share: 0.06 },
  calls: { heading: '# Calls', share: 0.3 },
  literals: { heading: '# Files and ids', share: 0.35 },
  errors: { heading: '# Errors', share: 0.08 },
  decisions: { heading: '# Decisions', share: 0.12 },
  open: { heading: '# Open', share: 0.04 },
} as const;

export type OutlineSection = keyof typeof OUTLINE_SECTIONS;

export const sectionNames = Object.keys(OUTLINE_SECTIONS) as OutlineSection[];

/** One fact. Its text is one folded line, so it can open no section. */
export interface Line {
  readonly section: OutlineSection;
  readonly text: string;
  /** what it tells besides the literals that it names; only the ratio between lines means something */
  readonly worth: number;
}

/** Sections in their order, lines in the order given. */
export function renderOutline(lines: readonly Line[]): string {
  const parts = sectionNames.flatMap((section) => {
    const own = lines.filter((line) => line.section === section).map((line) => line.text);
    return own.length === 0 ? [] : [OUTLINE_SECTIONS[section].heading, ...own];
  });
  return parts.join('\n');
}

/** What a summary's frame says, whatever its text. */
const frame = new Set(renderSummary('', { from: 1, to: 1 }).split('\n').filter(Boolean));
const FRAME_TAG = /^<\/?summary\b[^>]{0,80}>$/;

/** The lines of an earlier summary by section, so that it is merged and not nested. What stands in none was said. */
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
